"""The report over a month or some days: uptime, error budget and what is known, of monitors, tags, groups and all.
Pure.

No uptime where less than half of the period is known. Times in ms, figures in minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from opsapp.monitoring.logic.uptime import MINUTE_MS, StateTimes, is_known, known_percent, uptime
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import Between

BY = ("monitor", "tag", "group")
SORTS = ("worst", "-worst", "name", "-name")
TARGET, TARGETS = 99.9, (50, 99.9999)
UNTAGGED, UNGROUPED = "no tag", "no group"


class Period(NamedTuple):
    """`until`: its end, or now while it lasts."""

    start: int
    end: int
    until: int


class MonitorTimes(NamedTuple):
    """What is known of a monitor in a period."""

    monitor_id: str
    name: str
    tags: tuple[str, ...]
    spent: StateTimes
    incidents: int
    group: str | None = None  # of the status page

    def headings(self, by: str) -> tuple[str, ...]:
        """The headings under which it counts."""
        return (self.group or UNGROUPED,) if by == "group" else self.tags or (UNTAGGED,)


@frozen
class ReportedLine:
    """`known_percent`: how much of the period is known. Where that is less than half, nobody can say the uptime, nor
    what is left of the down time that the target allows."""

    name: str
    monitor_id: str | None
    monitors: Annotated[int, Between(0)]
    uptime_percent: Annotated[float | None, Between(0, 100)]
    known_percent: Annotated[float, Between(0, 100)]
    downtime_minutes: Annotated[float, Between(0)]
    allowed_minutes: Annotated[float, Between(0)]
    left_minutes: float | None
    maintenance_minutes: Annotated[float, Between(0)]
    unknown_minutes: Annotated[float, Between(0)]
    incidents: Annotated[int, Between(0)]


@frozen
class ReportTotal(ReportedLine):
    """All monitors of the report together. `end` is after now while the month lasts."""

    start: Annotated[int, Between(0)]
    end: Annotated[int, Between(0)]
    zone: str
    target: float


def row_of(name: str, members: Sequence[MonitorTimes], period: Period, target: float) -> ReportedLine:
    """Time counts as often as there are monitors; before a monitor was made it is unknown."""
    spent = StateTimes(*(sum(times) for times in zip(*(member.spent for member in members), strict=True)))
    known, elapsed = sum(spent), len(members) * (period.until - period.start)
    up_percent = uptime(spent) if elapsed > 0 and is_known(spent, elapsed) else None
    allowed = len(members) * (period.end - period.start) * (1 - target / 100)
    return ReportedLine(
        name,
        members[0].monitor_id if len(members) == 1 and members[0].name == name else None,
        len(members),
        up_percent,
        known_percent(spent, elapsed),
        _minutes(spent.down),
        _minutes(allowed),
        None if up_percent is None else _minutes(allowed - spent.down),
        _minutes(spent.maintenance),
        _minutes(max(0, elapsed - known)),
        sum(member.incidents for member in members),
    )


def rows_of(measured: Iterable[MonitorTimes], by: str, sort: str, period: Period, target: float) -> list[ReportedLine]:
    if by == "monitor":
        rows = [row_of(member.name, [member], period, target) for member in measured]
    else:
        headed: dict[str, list[MonitorTimes]] = {}
        for member in measured:
            for name in member.headings(by):
                headed.setdefault(name, []).append(member)
        rows = [replace(row_of(name, members, period, target), monitor_id=None) for name, members in headed.items()]
    rows.sort(key=lambda row: row.name.casefold(), reverse=sort == "-name")
    if sort.endswith("worst"):
        known = [row for row in rows if row.uptime_percent is not None]
        known.sort(key=lambda row: row.uptime_percent or 0.0, reverse=sort.startswith("-"))
        rows = known + [row for row in rows if row.uptime_percent is None]
    return rows


def _minutes(milliseconds: float) -> float:
    return round(milliseconds / MINUTE_MS, 2)
