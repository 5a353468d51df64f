"""A push monitor is called: it is up, and its next call is due an interval later."""

from __future__ import annotations

from opsapp.monitoring.engine.watch import watch_of
from opsapp.runtime.node import Node
from opsapp.wire.probes import Outcome


def called(node: Node, monitor_id: str) -> None:
    """On the hub (or in a thread, where there is none)."""
    watch = watch_of(node)
    entry = watch.register.entries.get(monitor_id)
    if entry is None or not entry.settings.enabled:
        return
    node.series.live.update(entry.subject, {"beat": 0.0}, node.clock.now())
    # A value goes into the journal with the call, because it is by values that other nodes hear of it.
    watch.take(entry, Outcome(True, 0.0, "called"), node.clock.monotonic())
    if watch.checker is not None:
        watch.checker.table.move(entry.id, watch.checker.measuring.next_deadline(entry))
