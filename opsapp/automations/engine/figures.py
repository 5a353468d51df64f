"""What /metrics says of runs: from memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsapp.runtime.families import counter, gauge
from opsapp.runtime.node import Node

CARRIER = "opsapp.automations.carrier"
SCHEDULER = "opsapp.automations.scheduler"


def figures(node: Node) -> Iterable[Any]:
    carrier, scheduler = node.registry.get(CARRIER), node.registry.get(SCHEDULER)
    if carrier is None or scheduler is None:
        return
    yield gauge("opsapp_runs_carried", "Runs that this node carries out now.", len(carrier.tasks))
    ended = counter("opsapp_runs_ended", "Attempts that ended on this node.", labels=["status"])
    for status, count in sorted(carrier.ended.items()):
        ended.add_metric([status], count)
    yield ended
    start = worst(carrier.latencies)
    if start is not None:
        yield gauge("opsapp_run_start_seconds", "From the asking to the process, p99 of the last.", start)
    late = worst(scheduler.lateness)
    if late is not None:
        yield gauge("opsapp_schedule_late_seconds", "Lateness of scheduled runs, p99 of the last.", late)
    yield gauge("opsapp_schedules", "Schedules that this node watches.", len(scheduler.rows))


def worst(values: Iterable[float]) -> float | None:
    """The 99th percentile."""
    ranked = sorted(values)
    return ranked[int(len(ranked) * 0.99)] if ranked else None
