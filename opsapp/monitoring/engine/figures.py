"""What monitoring says of itself and of each monitor at /metrics.

`opsapp_monitor_up` leaves out a monitor that is unknown, paused or in a window: nobody has seen it down. Names may
repeat, so each line has the monitor's id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsapp.monitoring.engine.monitorlists import response_of
from opsapp.monitoring.engine.watch import watch_of
from opsapp.runtime.families import counter, gauge
from opsapp.runtime.node import Node, node_of
from opsapp.series import folds
from opsapp.tree.root import Root

MOST = 5000  # monitors in one scrape, the first by name
IS_UP = {"up": 1, "degraded": 1, "down": 0}


def figures(node: Node) -> Iterable[Any]:
    watch = watch_of(node)
    statuses = gauge("opsapp_monitors", "Monitors by stored status.", labels=["status"])
    counts: dict[str, int] = {}
    for entry in list(watch.register.entries.values()):
        counts[entry.standing.status] = counts.get(entry.standing.status, 0) + 1
    for status, count in sorted(counts.items()):
        statuses.add_metric([status], count)
    yield statuses
    journal = node.series.journal
    yield gauge("opsapp_journal_backlog", "Batches of observations not committed yet.", journal.backlog)
    yield counter("opsapp_observations_lost", "Observations that were refused or lost.", value=journal.lost)
    corrupt = "How often packed data of the series could not be read."
    yield counter("opsapp_series_corrupt_chunks", corrupt, value=folds.damage.met)
    if watch.checker is None:
        return
    late = sorted(watch.checker.lateness)
    yield counter("opsapp_checks", "Checks made since the start.", value=watch.checker.checks)
    yield gauge("opsapp_checks_in_flight", "Checks in progress.", len(watch.checker.running))
    p99 = late[int(len(late) * 0.99)] if late else 0.0
    yield gauge(
        "opsapp_check_late_p99_seconds", "From when a check was due to when it began, of the last 10,000 checks.", p99
    )


def of_each(root: Root) -> Iterable[Any]:
    node = node_of(root)
    watch, labels = watch_of(node), ["id", "name", "type"]
    watch.register.catch_up(root)
    watch.states.look(node.clock.now())
    entries = watch.register.ordered()
    up = gauge("opsapp_monitor_up", "1: it is up, or degraded; 0: it is down.", labels=labels)
    told = "1 for the state that it is in."
    states = gauge("opsapp_monitor_state", told, labels=[*labels, "state"])
    told = "How long its last good check took, while it is up."
    response = gauge("opsapp_monitor_response_seconds", told, labels=labels)
    for entry in entries[:MOST]:
        values, state = [entry.id, entry.name, entry.target.type], entry.shown
        states.add_metric([*values, state], 1)
        if state in IS_UP:
            up.add_metric(values, IS_UP[state])
        took = response_of(node, entry) if IS_UP.get(state) else None
        if took is not None:
            response.add_metric(values, took / 1000)
    yield from (up, states, response)
    left_out = max(0, len(entries) - MOST)
    yield gauge("opsapp_monitors_left_out", "Monitors without lines of their own here.", left_out)
