"""Calendars that other programs subscribe to (RFC 5545). Must not: know what happens at these times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from typing import NamedTuple


class CalendarEvent(NamedTuple):
    """`uid` stays; `sequence` grows when it changes. Times are in seconds."""

    uid: str
    name: str
    start: int
    end: int
    changed: int
    sequence: int = 0
    description: str = ""
    link: str = ""
    cancelled: bool = False


def text(title: str, product: str, events: Iterable[CalendarEvent]) -> str:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//opsapp//{product}//EN", "CALSCALE:GREGORIAN"]
    lines += ["METHOD:PUBLISH", f"X-WR-CALNAME:{_escaped(title)}"]
    for event in events:
        lines += [
            "BEGIN:VEVENT",
            f"UID:{_escaped(event.uid)}@opsapp",
            f"DTSTAMP:{_stamp(event.changed)}",
            f"LAST-MODIFIED:{_stamp(event.changed)}",
            f"DTSTART:{_stamp(event.start)}",
            f"DTEND:{_stamp(event.end)}",
            f"SEQUENCE:{event.sequence}",
            f"STATUS:{'CANCELLED' if event.cancelled else 'CONFIRMED'}",
            "TRANSP:TRANSPARENT",
            f"SUMMARY:{_escaped(event.name)}",
            *([f"DESCRIPTION:{_escaped(event.description)}"] if event.description else []),
            *([f"URL:{event.link}"] if event.link else []),
            "END:VEVENT",
        ]
    return "".join(_folded(line) for line in [*lines, "END:VCALENDAR"])


def _folded(line: str) -> str:
    """The line folded into lines of at most 75 octets; no character is cut in two."""
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
