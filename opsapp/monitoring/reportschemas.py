"""Answers of the report under /api/monitoring."""

from __future__ import annotations

from typing import Annotated

from opsapp.wire.dataclass import dataclass
from opsapp.wire.records import Between


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class ReportTotal(ReportedLine):
    """All monitors of the report together. `end` is after now while the month lasts."""

    start: Annotated[int, Between(0)]
    end: Annotated[int, Between(0)]
    zone: str
    target: float
