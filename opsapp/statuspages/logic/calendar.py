"""Maintenance as a calendar that other programs subscribe to: RFC 5545."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import NamedTuple

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
    """What is to be stored, and what is to be told: (`planned`, `moved` or `cancelled`, the entry). An entry that has
    gone before its end was cancelled, or ended early."""
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
    """The whole calendar; `names`: of the monitors that are published."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//opsapp//status page//EN", "CALSCALE:GREGORIAN"]
    lines += ["METHOD:PUBLISH", f"X-WR-CALNAME:{_escaped(title)}"]
    for entry in entries:
        affected = sorted(names[monitor_id] for monitor_id in entry.monitors if monitor_id in names)
        more = len(affected) - MOST_NAMES
        affected_names = ", ".join(affected[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        lines += [
            "BEGIN:VEVENT",
            f"UID:{_escaped(entry.uid)}@opsapp",
            f"DTSTAMP:{_stamp(entry.changed)}",
            f"LAST-MODIFIED:{_stamp(entry.changed)}",
            f"DTSTART:{_stamp(entry.start)}",
            f"DTEND:{_stamp(entry.end)}",
            f"SEQUENCE:{entry.sequence}",
            f"STATUS:{'CANCELLED' if entry.state == CANCELLED else 'CONFIRMED'}",
            "TRANSP:TRANSPARENT",
            f"SUMMARY:{_escaped(entry.name)}",
            *([f"DESCRIPTION:{_escaped(affected_names)}"] if affected_names else []),
            *([f"URL:{link}"] if link else []),
            "END:VEVENT",
        ]
    return "".join(folded(line) for line in [*lines, "END:VCALENDAR"])


def folded(line: str) -> str:
    """A line of at most 75 octets, and what is over in further ones; no character is cut in two."""
    pieces: list[bytes] = []
    piece = b""
    for character in line:
        octets = character.encode("utf-8", "replace")
        if len(piece) + len(octets) > (75 if not pieces else 74):
            pieces.append(piece)
            piece = b""
        piece += octets
    pieces.append(piece)
    return "\r\n ".join(octets.decode() for octets in pieces) + "\r\n"


def _escaped(words: str) -> str:
    for character, escaped in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\r\n", "\\n"), ("\n", "\\n")):
        words = words.replace(character, escaped)
    return "".join(character for character in words if character >= " " and character != "\x7f")


def _stamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
