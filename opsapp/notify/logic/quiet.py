"""Quiet hours: when a channel holds back what can wait. Wall-clock times of a time zone."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from opsapp.lib.zones import zone_problem
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Choice, Text
from opsapp.wire.records import FormField, Most

from . import SEVERITIES

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Clock = Annotated[str, Text(5, 5, pattern=r"([01][0-9]|2[0-3]):[0-5][0-9]", example="a time like 22:00")]
Severities = Annotated[tuple[Annotated[str, Choice(*SEVERITIES)], ...], Most(3, unique=True, least=1)]


@frozen
class QuietHours:
    """`days` are those on which they begin; an end that is the start too means the whole day."""

    start: Annotated[Clock, FormField("Quiet from", "clock")]
    end: Annotated[Clock, FormField("Until", "clock")]
    timezone: Annotated[str | None, Text(1, 60), CheckedBy(zone_problem)] = None
    days: Annotated[
        tuple[Annotated[str, Choice(*DAYS)], ...], Most(7, unique=True, least=1), FormField("On", "picks")
    ] = DAYS
    severities: Annotated[Severities, FormField("What waits", "picks", hint="It arrives as one message at the end")] = (
        "info",
        "warning",
    )


def quiet_until(quiet: QuietHours | None, severity: str, now: float, zone: str) -> float | None:
    """None when a message of this severity may go now."""
    if not quiet or severity not in quiet.severities:
        return None
    where = ZoneInfo(quiet.timezone or zone)
    today = datetime.fromtimestamp(now, where).date()
    for day in (today - timedelta(days=1), today):
        if DAYS[day.weekday()] not in quiet.days:
            continue
        begin, end = _hours(quiet, day, where)
        if begin <= now < end:
            return end
    return None


def _hours(quiet: QuietHours, day: date, zone: ZoneInfo) -> tuple[float, float]:
    start, end = time.fromisoformat(quiet.start), time.fromisoformat(quiet.end)
    last = day + timedelta(days=1) if end <= start else day
    return _instant(day, start, zone), _instant(last, end, zone)


def _instant(day: date, at: time, zone: ZoneInfo) -> float:
    """A time that a change of the clock skips is the moment of the change or later; one that comes twice, the first."""
    return datetime.combine(day, at, zone).timestamp()
