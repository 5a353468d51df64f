"""Quiet hours: when a channel holds back what can wait. Wall-clock times of a time zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def quiet_until(quiet: Mapping[str, Any] | None, severity: str, now: float, zone: str) -> float | None:
    """When the quiet hours end that hold a message of this severity now; None when it may go.

    `days` are those on which quiet hours begin. A start that is the end too means the whole day.
    """
    if not quiet or severity not in quiet["severities"]:
        return None
    where = ZoneInfo(quiet["timezone"] or zone)
    today = datetime.fromtimestamp(now, where).date()
    for day in (today - timedelta(days=1), today):
        if DAYS[day.weekday()] not in quiet["days"]:
            continue
        begin, end = _hours(quiet, day, where)
        if begin <= now < end:
            return end
    return None


def _hours(quiet: Mapping[str, Any], day: date, zone: ZoneInfo) -> tuple[float, float]:
    start, end = time.fromisoformat(quiet["start"]), time.fromisoformat(quiet["end"])
    last = day + timedelta(days=1) if end <= start else day
    return _instant(day, start, zone), _instant(last, end, zone)


def _instant(day: date, at: time, zone: ZoneInfo) -> float:
    """A time that a change of the clock skips is the moment of the change or later; one that comes twice, the first."""
    return datetime.combine(day, at, zone).timestamp()
