"""Spans of time as people write them: `90s`, `30m`, `2h`, `1h30m`, `1d`."""

from __future__ import annotations

import re
import sys
from typing import Any

from opsapp.wire.kinds import JsonKind

FARTHEST = sys.float_info.max
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
SPOKEN = {"d": "d", "h": "h", "m": "min", "s": "s"}
WORD = re.compile(r"\s*([0-9]{1,9}(?:[.,][0-9]{1,3})?)\s*([a-z]*)\s*(?:,|and\b)?", re.IGNORECASE)
FORM = re.compile("".join(f"(?:([0-9]{{1,6}}){unit})?" for unit in UNITS))


def whole(at: float | None) -> int | None:
    """A time as it is told: without fractions."""
    return None if at is None else int(at)


def seconds(span: float | str) -> float:
    """A number of seconds, or a text, as seconds; ValueError for anything else."""
    if isinstance(span, bool) or not isinstance(span, int | float | str):
        raise ValueError("a duration is a number of seconds or a text like 1h30m")
    if not isinstance(span, str):
        if not -FARTHEST <= span <= FARTHEST:  # nor NaN, nor an integer that no float holds
            raise ValueError("a duration must be a finite number of seconds")
        return float(span)
    match = FORM.fullmatch(span)
    if not span or match is None:
        raise ValueError(f"{span!r} is no duration: write 90s, 30m, 2h, 1h30m or 1d")
    return float(sum(int(count) * unit for count, unit in zip(match.groups("0"), UNITS.values(), strict=True)))


class DurationKind(JsonKind):
    def __init__(self, longest_s: int):
        self.longest_s = longest_s
        self.openapi = {"oneOf": [{"type": "number", "minimum": 0, "maximum": longest_s}, {"type": "string"}]}

    def problem(self, value: Any) -> str | None:
        try:
            span = seconds(value)
        except ValueError as problem:
            return str(problem)
        return None if 0 <= span <= self.longest_s else f"must be 0 to {self.longest_s // UNITS['d']} days"


def from_words(text: str) -> float:
    """Seconds of a text as in a form: `15 min`, `1 h 30 min`, `2 hours`, `90`; ValueError says how to write it."""
    total, at = 0.0, 0
    whole = text.strip()
    while at < len(whole):
        match = WORD.match(whole, at)
        unit = match and _unit_of(match[2])
        if match is None or unit is None:
            raise ValueError(f"{text.strip()[:40]!r} is no length of time: write it like 30 s, 15 min, 2 h or 1 d")
        total += float(match[1].replace(",", ".")) * unit
        at = match.end()
    return total


def _unit_of(word: str) -> int | None:
    """The seconds of a unit that is given by any beginning of its name; no word means seconds."""
    word = word.lower()
    if word in ("", "sec", "secs"):
        return 1
    if word in ("min", "mins"):
        return 60
    if word in ("hr", "hrs"):
        return 3600
    for letter, name in (("d", "days"), ("h", "hours"), ("m", "minutes"), ("s", "seconds")):
        if word in (letter, name, name[:-1]):
            return UNITS[letter]
    return 604800 if word in ("w", "week", "weeks") else None


def _parts(seconds: float) -> list[tuple[int, str]]:
    """How many of each unit, the largest first; none of a unit is left out."""
    left, parts = int(seconds), []
    for unit, length in UNITS.items():
        if left >= length:
            parts.append((left // length, unit))
        left %= length
    return parts


def in_words(seconds: float) -> str:
    """The exact duration as `from_words` reads it: `1 h 30 min`. A part of a second is kept."""
    if seconds != int(seconds):
        return f"{seconds:g} s"
    return " ".join(f"{count} {SPOKEN[unit]}" for count, unit in _parts(seconds)) or "0 s"


def roughly(seconds: float) -> str:
    """A duration for people to read, rounded to the minute; to the second where it is less than a minute."""
    return in_words(int(seconds) if seconds < UNITS["m"] else round(seconds / UNITS["m"]) * UNITS["m"])


def written(seconds: float) -> str:
    """The duration as `seconds` reads it: `1h30m`."""
    return "".join(f"{count}{unit}" for count, unit in _parts(seconds)) or "0s"
