"""Maintenance of Uptime Kuma as windows: each of its strategies. Times are by the clock on the wall.

Must not: take a window that would be on at other times than there, or cover something else.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from opsapp.lib import cron
from opsapp.lib.zones import zone_problem
from opsapp.maintenance.records import WindowAsCode

from .foreign import NotImported
from .kumafile import KumaFile
from .kumarecords import KumaWindow

WEEK = 7
SERVERS = ("", "SAME_AS_SERVER")
FIRST_DAY = datetime(2024, 1, 1)  # where nothing says since when
BY_HAND = "it is switched on by hand: make a window when you need one"


def window(row: KumaWindow, file: KumaFile, names: dict[int, str], zone: str, notes: list[str]) -> WindowAsCode:
    """`names` of the monitors here, by their ids there; `zone`: by whose clock windows are here."""
    covered = _covered(row, file, names, notes)
    there = _zone_of(row, file, zone, notes)
    if row.description:
        notes.append("not taken of it: description")
    start, end, recurring = _times(row, there, zone)
    return WindowAsCode(row.told, start, end, recurring, covered, enabled=bool(row.active))


def _covered(row: KumaWindow, file: KumaFile, names: dict[int, str], notes: list[str]) -> tuple[str, ...]:
    ids, left = set[int | None](), {tie.monitor_id for tie in file.window_ties if tie.maintenance_id == row.id}
    while left:
        ids |= left
        left = {monitor.id for monitor in file.monitors if monitor.id is not None and monitor.parent in left} - ids
    groups = {monitor.id for monitor in file.monitors if monitor.is_group}
    missing = len(ids - groups - names.keys())
    covered = tuple(name for monitor_id, name in names.items() if monitor_id in ids)
    if not covered:
        raise NotImported("it covers no monitor that is taken")
    if missing:
        notes.append(f"{missing} of its monitors are not taken")
    return covered


def _zone_of(row: KumaWindow, file: KumaFile, zone: str, notes: list[str]) -> str:
    if row.timezone not in SERVERS:
        there = row.timezone
    elif file.zone is not None:
        there = file.zone
    else:
        notes.append(f"by the clock of {zone}: the file does not say by which one it is there")
        return zone
    if zone_problem(there):
        raise NotImported(f"it is by the clock of {there}, which is not known here")
    return there


def _times(row: KumaWindow, there: str, zone: str) -> tuple[str, str, str | None]:
    """Start, end, and how it repeats."""
    if row.strategy == "single":
        begins, ends = _moment(row.start_date, "it has no start"), _moment(row.end_date, "it has no end")
        return _moved(begins, there, zone), _moved(ends, there, zone), None
    if row.strategy == "manual":
        raise NotImported(BY_HAND)
    if not _alike(there, zone):
        raise NotImported(f"it repeats by the clock of {there}, and windows here by that of {zone}")
    if row.end_date:
        raise NotImported(f"it repeats until {row.end_date}, and windows here have no last day")
    expression, length = _repeats(row)
    if problem := cron.problem(expression):
        raise NotImported(f"its schedule {expression!r} {problem}")
    since = (_wall(row.start_date) if row.start_date else FIRST_DAY) - timedelta(seconds=1)
    first = cron.next_time(expression, "UTC", since.replace(tzinfo=timezone.utc).timestamp())
    start = datetime.fromtimestamp(first, timezone.utc).replace(tzinfo=None)
    return start.isoformat(), (start + timedelta(seconds=length)).isoformat(), expression


def _repeats(row: KumaWindow) -> tuple[str, float]:
    """The expression, and for how many seconds."""
    if row.strategy == "cron":
        return " ".join(str(row.cron).split()), float(row.duration)
    begins, ends = _clock(row.start_time), _clock(row.end_time)
    length = (ends - begins).total_seconds() % 86400
    at = f"{begins.minute} {begins.hour}"
    if row.strategy == "recurring-weekday":
        return f"{at} * * {_listed(row.weekdays)}", length
    if row.strategy == "recurring-day-of-month":
        return f"{at} {_listed(row.days_of_month)} * *", length
    if row.strategy == "recurring-interval":
        return f"{at} * * {_weekday(row)}", length
    raise NotImported(f"its strategy {row.strategy} is not known here")


def _weekday(row: KumaWindow) -> str:
    """The weekday of a window that comes every so many days: each day, or the same day of each week."""
    days = int(row.interval_day or 0)
    if days == 1:
        return "*"
    if days != WEEK or not row.start_date:
        raise NotImported(f"it comes every {days} days: schedules here know each day and each week")
    return str(_wall(row.start_date).isoweekday() % WEEK)


def _listed(given: Any) -> str:
    """The days as a field of the expression; `lastDay1` is the last day of a month."""
    words = ["l" if word == "lastDay1" else str(word) for word in given or []]
    if not words or any(word.startswith("lastDay") for word in words):
        raise NotImported("it is on days that schedules here do not know")
    return ",".join(words)


def _clock(text: str | None) -> datetime:
    parts = [int(part) for part in str(text).split(":")]
    return FIRST_DAY.replace(hour=parts[0], minute=parts[1])


def _moment(text: str, otherwise: str) -> datetime:
    if not text:
        raise NotImported(otherwise)
    return _wall(text)


def _wall(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "")).replace(tzinfo=None, microsecond=0)


def _moved(wall: datetime, there: str, zone: str) -> str:
    """The same moment by the clock here."""
    moment = wall.replace(tzinfo=ZoneInfo(there)).astimezone(ZoneInfo(zone))
    return moment.replace(tzinfo=None).isoformat()


def _alike(there: str, zone: str) -> bool:
    """Whether both clocks show the same, all through a year."""
    first, zones = datetime(2026, 1, 1, 12, tzinfo=timezone.utc), (ZoneInfo(there), ZoneInfo(zone))
    moments = (first + timedelta(days=day) for day in range(366))
    return all(len({moment.astimezone(clock).utcoffset() for clock in zones}) == 1 for moment in moments)
