"""What monitoring says of itself at /metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from opsapp.monitoring.engine.watch import watch_of
from opsapp.runtime.node import Node
from opsapp.series import folds


def figures(node: Node) -> Iterable[Any]:
    watch = watch_of(node)
    statuses = GaugeMetricFamily("opsapp_monitors", "Monitors by stored status.", labels=["status"])
    counts: dict[str, int] = {}
    for entry in list(watch.register.entries.values()):
        counts[entry.standing.status] = counts.get(entry.standing.status, 0) + 1
    for status, count in sorted(counts.items()):
        statuses.add_metric([status], count)
    yield statuses
    journal = node.series.journal
    yield GaugeMetricFamily("opsapp_journal_backlog", "Batches of observations not committed yet.", journal.backlog)
    yield CounterMetricFamily("opsapp_observations_lost", "Observations that were refused or lost.", value=journal.lost)
    corrupt = "How often packed data of the series could not be read."
    yield CounterMetricFamily("opsapp_series_corrupt_chunks", corrupt, value=folds.damage.met)
    if watch.checker is None:
        return
    late = sorted(watch.checker.lateness)
    yield CounterMetricFamily("opsapp_checks", "Checks made since the start.", value=watch.checker.checks)
    yield GaugeMetricFamily("opsapp_checks_in_flight", "Checks in progress.", len(watch.checker.running))
    p99 = late[int(len(late) * 0.99)] if late else 0.0
    yield GaugeMetricFamily(
        "opsapp_check_late_p99_seconds", "From when a check was due to when it began, of the last 10,000 checks.", p99
    )
