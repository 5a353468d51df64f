"""A span for the check with which a monitor goes down, and its reason. Not for each check: history says those.
Must not: say what a program wrote or a person typed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opsapp.automations.engine import last_words
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.events import Event
from opsapp.tracing.logic.ids import SpanPlace, span_of, trace_of
from opsapp.tracing.logic.spans import CLIENT, TraceSpan
from opsapp.tree.root import Root
from opsapp.wire.monitortypes import TYPES
from opsapp.wire.typesettings import TypeSettings


class MonitorTold(NamedTuple):
    """A monitor as its event tells it."""

    id: str
    name: str
    change: str
    status: str
    previous: str
    cause: str


def check_spans(root: Root, told: MonitorTold, event: Event) -> Iterator[TraceSpan]:
    """Where the verdict is stored, which is a moment after the check."""
    if told.change != "status" or told.status != "down" or told.previous == "down":
        return
    monitor = monitors_of(root).find(told.id)
    kind = None if monitor is None else monitor.record.type
    check = f"{told.id}/{event.id}"
    reason = last_words(root, told.cause) if kind is not None and _says_it_itself(kind) else ""
    yield TraceSpan(
        SpanPlace(trace_of("check", check), span_of("check", check)),
        f"check {told.name}",
        event.at,
        event.at,
        {"opsapp.monitor.id": told.id, "opsapp.monitor.type": kind, "opsapp.monitor.status": told.status},
        kind=CLIENT,
        failed=reason or told.status,
    )


def _says_it_itself(kind: str) -> bool:
    """Whether the reason is in our own words: no output of a plugin, no words of a caller, nothing that is expected."""
    known = TYPES.get(kind)
    return known is not None and known.is_probed and known.body is None and known.settings is TypeSettings
