"""Maintenance as a calendar that other programs subscribe to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opsapp.lib import icalendar

PLANNED, CANCELLED = "planned", "cancelled"
MOST_NAMES = 20


class PlannedTime(NamedTuple):
    """One time that a window is on. `uid` stays; `sequence` grows when it changes."""

    uid: str
    name: str
    start: int
    end: int
    monitors: tuple[str, ...]  # ids
    sequence: int = 0
    state: str = PLANNED
    changed: int = 0


def compared(
    known: dict[str, PlannedTime], current: Iterable[PlannedTime], now: int
) -> tuple[list[PlannedTime], list[tuple[str, PlannedTime]]]:
    """What is to be stored, and told: (`planned`, `moved` or `cancelled`, the entry). An entry that has gone before its
    end was cancelled, or ended early."""
    fresh = {entry.uid: entry for entry in current}
    stored: list[PlannedTime] = []
    told: list[tuple[str, PlannedTime]] = []
    for uid, entry in fresh.items():
        before = known.get(uid)
        if before is None:
            stored.append(entry._replace(changed=now))
            told.append((PLANNED, stored[-1]))
        elif _said(before) != _said(entry):
            stored.append(entry._replace(sequence=before.sequence + 1, changed=now))
            if (before.start, before.end, before.state) != (entry.start, entry.end, entry.state):
                told.append(("moved" if before.state == PLANNED else PLANNED, stored[-1]))
    for uid, entry in known.items():
        if uid not in fresh and entry.state == PLANNED and entry.end > now:
            over = entry._replace(sequence=entry.sequence + 1, changed=now)
            over = over._replace(end=now) if entry.start <= now else over._replace(state=CANCELLED)
            stored.append(over)
            if over.state == CANCELLED:
                told.append((CANCELLED, over))
    return stored, told


def _said(entry: PlannedTime) -> tuple[object, ...]:
    return entry.name, entry.start, entry.end, entry.monitors, entry.state


def text(title: str, entries: Iterable[PlannedTime], names: dict[str, str], link: str) -> str:
    events = (icalendar.CalendarEvent(entry.uid, entry.name, entry.start, entry.end, entry.changed, entry.sequence,
                                      _affected(entry, names), link, entry.state == CANCELLED)
              for entry in entries)  # fmt: skip
    return icalendar.text(title, "status page", events)


def _affected(entry: PlannedTime, names: dict[str, str]) -> str:
    affected = sorted(names[monitor_id] for monitor_id in entry.monitors if monitor_id in names)
    more = len(affected) - MOST_NAMES
    return ", ".join(affected[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
