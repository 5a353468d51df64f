"""When a cron expression comes next, in a time zone. Five fields, or `@daily` and friends.

A change of the clocks neither skips nor doubles what has an hour of its own: on a day without 02:30 it comes when the
gap ends, on a day that has it twice the first time. What repeats (`*` or `*/n` in the minute or hour field) goes by
elapsed time, through both passes of a doubled hour.
"""

from __future__ import annotations

import functools
import re
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELD = re.compile(r"[0-9A-Za-z*/,\-#]+")
_MONTHS = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
_NAMES = _MONTHS | {"sun", "mon", "tue", "wed", "thu", "fri", "sat", "l"}
YEARS_AHEAD = 9  # 29 February may be eight years away
DAY_S = 86400.0


class BadSchedule(ValueError):
    """The text is no schedule; the message says why."""


@functools.lru_cache(maxsize=20_000)
def parse(expression: str) -> str:
    text = ALIASES.get(expression.strip().lower(), expression.strip().lower())
    fields = text.split()
    if len(fields) != 5:
        raise BadSchedule("must have five fields (minute hour day month weekday) or be one of " + ", ".join(ALIASES))
    for field in fields:
        words = set(re.findall(r"[a-z]+", field))
        if not _FIELD.fullmatch(field) or words - _NAMES:
            raise BadSchedule(f"{field!a} is no cron field")
    from croniter import CroniterBadDateError, CroniterError

    text = " ".join(fields)
    try:
        _after(text, datetime(2024, 1, 1))
    except CroniterBadDateError:
        raise BadSchedule("never comes") from None
    except (CroniterError, ValueError, KeyError) as problem:
        raise BadSchedule(f"is no schedule: {problem}") from None
    return text


def problem(expression: str) -> str | None:
    try:
        parse(expression)
    except BadSchedule as bad:
        return str(bad)
    return None


@functools.lru_cache(maxsize=20_000)
def next_time(expression: str, zone: str, after: float) -> float:
    """The next time later than `after` (epoch seconds)."""
    step = _next_elapsed if repeats(expression) else _next_fixed
    return step(parse(expression), ZoneInfo(zone), after)


def repeats(expression: str) -> bool:
    """Whether it has no hour of its own."""
    minute, hour = parse(expression).split()[:2]
    return minute.startswith("*") or hour.startswith("*")


def moment(wall: datetime, zone: str) -> float:
    """A date-time without a zone as epoch seconds: see `_moment`."""
    return _moment(wall, ZoneInfo(zone))


def _after(text: str, wall: datetime) -> datetime:
    """The next date-time without a zone that matches."""
    from croniter import croniter  # 1.3 MB, for whoever has a schedule

    return croniter(text, wall, max_years_between_matches=YEARS_AHEAD).get_next(datetime)


def _offset(zone: ZoneInfo, at: float) -> float:
    offset = datetime.fromtimestamp(at, timezone.utc).astimezone(zone).utcoffset()
    return offset.total_seconds() if offset is not None else 0.0


def _wall(at: float, offset: float) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=at + offset)


def _epoch(wall: datetime, offset: float) -> float:
    return (wall - datetime(1970, 1, 1)).total_seconds() - offset


def _next_fixed(text: str, zone: ZoneInfo, after: float) -> float:
    wall = _wall(after, _offset(zone, after))
    while True:
        wall = _after(text, wall)
        moment = _moment(wall, zone)
        if moment > after:
            return moment


def _moment(wall: datetime, zone: ZoneInfo) -> float:
    """When a clock on the wall shows this for the first time, or, when it never does, when it jumps over it."""
    first = wall.replace(tzinfo=zone, fold=0).timestamp()
    if _wall(first, _offset(zone, first)) == wall:
        return first
    second = wall.replace(tzinfo=zone, fold=1).timestamp()
    jump = _change(zone, min(first, second) - 1, max(first, second) + 1)
    return first if jump is None else jump


def _next_elapsed(text: str, zone: ZoneInfo, after: float) -> float:
    offset = _offset(zone, after)
    wall = _wall(after, offset)
    while True:
        wall = _after(text, wall)
        moment = _epoch(wall, offset)
        change = _change(zone, after, moment)
        if change is None:
            return moment
        after, offset = change, _offset(zone, change)
        wall = _wall(change, offset) - timedelta(seconds=1)


def _change(zone: ZoneInfo, start: float, end: float) -> float | None:
    """The first moment in (start, end] from which the zone's offset is another one than at `start`."""
    before = _offset(zone, start)
    while start < end:
        later = min(end, start + DAY_S)
        if _offset(zone, later) != before:
            return _search(zone, before, start, later)
        start = later
    return None


def _search(zone: ZoneInfo, before: float, low: float, high: float) -> float:
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(zone, middle) == before:
            low = middle
        else:
            high = middle
    return float(int(high))
