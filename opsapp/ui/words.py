"""States, times and figures as a person reads them: the same thing is said alike on every page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.lib import cron
from opsapp.lib.cronwords import in_words
from opsapp.lib.months import month_back, month_name
from opsapp.lib.pagenames import EVERY, MAIN
from opsapp.ui.markup import markup

from .reader import UTC, Reader

DOWN_IN_WINDOW = "down, in maintenance"
# What a state is: ok, warn, bad, maint, masked (down within a window), heal, hid (held down by something else) or off.
# Each has a shape of its own.
KINDS = {
    "ok": ("up", "online", "ok", "done", "verified", "approved", "finished", "succeeded", "success", "resolved",
           "recovered", "active", "low", "sent", "delivered", "enabled", "passed", "execute", "execute-safe"),
    "warn": ("degraded", "pending", "queued", "warning", "medium", "expired", "inconclusive", "pending_approval",
             "awaiting_approval", "slow", "retrying", "approve", "unverified"),
    "bad": ("down", "open", "offline", "dead", "failed", "refused", "critical", "rejected", "lost", "high", "timeout",
            "error", "worse"),
    "maint": ("maintenance",),
    "masked": (DOWN_IN_WINDOW,),
    "heal": ("healing", "running", "executing", "settling", "verifying", "under way"),
    "hid": ("suppressed", "held"),
}  # fmt: skip
_KIND_OF = {state: kind for kind, states in KINDS.items() for state in states}
MINUTE, HOUR, DAY = 60, 3600, 86_400
MONTHS = 13  # that a report or a file is offered of


def kind_of(state: object) -> str:
    """The kind of a state, whatever says it; `off` for what has none (paused, unknown)."""
    text = str(state).lower()
    return text if text in KINDS else _KIND_OF.get(text, "off")


def spoken(state: object) -> str:
    """A state as a word: `pending_approval` is not one."""
    text = str(state).replace("_", " ")
    return text[:1].upper() + text[1:]


def rough_span(seconds: float) -> str:
    seconds = abs(seconds)
    if seconds < MINUTE:
        return f"{int(seconds)} s"
    if seconds < 2 * HOUR:
        return f"{int(seconds // MINUTE)} min"
    if seconds < 2 * DAY:
        return f"{int(seconds // HOUR)} h"
    return f"{int(seconds // DAY)} d"


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def machine(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def local(seconds: float, zone: str) -> datetime:
    return datetime.fromtimestamp(seconds, ZoneInfo(zone))


def offset(seconds: float, zone: str) -> str:
    """How the clock of a zone stands to UTC at a moment: `UTC+02:00`."""
    told = local(seconds, zone).strftime("%z")
    return "UTC" if told == "+0000" else f"UTC{told[:3]}:{told[3:]}"


def exact(seconds: float, zone: str) -> str:
    here = local(seconds, zone).strftime("%a %d %b %Y, %H:%M:%S")
    place = zone.rpartition("/")[2].replace("_", " ")
    return f"{here} UTC" if zone == UTC else f"{here} {place} ({moment(seconds)})"


def clock(seconds: float, reader: Reader | None) -> Markup:
    zone = reader.zone if reader else UTC
    here = local(seconds, zone)
    today = reader is not None and here.date() == local(reader.now, zone).date()
    return _time(seconds, here.strftime("%H:%M" if today else "%d %b %H:%M"), zone)


def clock_in(seconds: float, zone: str) -> Markup:
    """By the clock of a zone that is not the reader's, which the page names."""
    return _time(seconds, local(seconds, zone).strftime("%a %d %b, %H:%M"), zone)


def hour(seconds: float, reader: Reader) -> Markup:
    return _time(seconds, local(seconds, reader.zone).strftime("%H:%M"), reader.zone)


def brief(seconds: float, reader: Reader) -> Markup:
    here = local(seconds, reader.zone)
    today = here.date() == local(reader.now, reader.zone).date()
    return _time(seconds, here.strftime("%H:%M" if today else "%d %b"), reader.zone)


def ago(seconds: float, reader: Reader | None) -> Markup:
    zone = reader.zone if reader else UTC
    if reader is None:
        return _time(seconds, moment(seconds), zone)
    gone = reader.now - seconds
    if abs(gone) > 30 * DAY:
        return _time(seconds, local(seconds, zone).strftime("%d %b %Y"), zone)
    return _time(seconds, f"{rough_span(gone)} ago" if gone >= 0 else f"in {rough_span(gone)}", zone, "ago")


def since(seconds: float, reader: Reader) -> Markup:
    return _time(seconds, rough_span(reader.now - seconds), reader.zone, "since")


def _time(seconds: float, words: str, zone: str, ticks: str = "") -> Markup:
    """`ticks`: how the words go on with time, for the script that keeps them true."""
    ticking = markup(' data-ticks="{}"', ticks) if ticks else ""
    pattern = '<time datetime="{}" title="{}"{}>{}</time>'
    return markup(pattern, machine(seconds), exact(seconds, zone), ticking, words)


def months(reader: Reader) -> list[tuple[str, str]]:
    """The months by the reader's clock, with names: the last one, then the one that is not over."""
    values = [month_back(reader.now, reader.zone, back) for back in (1, 0, *range(2, MONTHS))]
    return [(value, month_name(value)) for value in values]


def percent(value: float) -> str:
    """Down to the next hundredth: 99.996 is never shown as 100."""
    return f"{math.floor(value * 100) / 100:g} %"


def repeats(expression: str) -> str | None:
    """A schedule in words; None for one that only its expression says."""
    return None if cron.problem(expression) else in_words(cron.parse(expression))


def initials(name: str) -> str:
    words = [word for word in name.replace(".", " ").replace("-", " ").replace("_", " ").split() if word]
    letters = words[0][0] + words[1][0] if len(words) > 1 else name[:2]
    return letters.upper()


def separated(text: str) -> list[str]:
    """What is written with commas."""
    return [word for part in text.split(",") if (word := part.strip())]


def on_pages(paths: Sequence[str]) -> str:
    """The status pages on which something is shown."""
    return ", ".join({MAIN: "the page of all", EVERY: "every page"}.get(path, path) for path in paths) or "no page"
