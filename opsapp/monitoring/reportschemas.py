"""Queries and answers of the reports under /api/monitoring: history, uptime, SLA, health scores. What
is not here of their answers is declared in `records`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.months import month_problem
from opsapp.lib.zones import zone_problem
from opsapp.monitoring.logic.history import RANGE_H, RESOLUTION_S
from opsapp.monitoring.logic.report import BY, SORTS, TARGET, TARGETS
from opsapp.monitoring.logic.uptime import DAYS as SLA_DAYS
from opsapp.monitoring.schemas import STATUSES
from opsapp.web.fields import Body, Paging, choice, map_of, number, text, whole
from opsapp.wire.plugins import MOST_METRICS
from opsapp.wire.records import Between


class HistoryRange(Paging):
    range_h = whole(*RANGE_H, default=24)
    resolution = whole(*RESOLUTION_S, default=300)
    until = whole(0, 10**11, default=None)


class ResponsePoint(Body):
    time = whole()
    status = choice(*STATUSES)
    response_time_ms = whole(null=True)
    min_ms = number(null=True)
    max_ms = number(null=True)
    median_ms = number(null=True)
    p95_ms = number(null=True)
    uptime = number(0, 100, null=True)
    checks = whole(1)


class MetricPoint(Body):
    """Means of what a plugin measured within a bucket, by its name."""

    time = whole()
    metrics = map_of(number(), MOST_METRICS)


class SlaWindow(Paging):
    days = whole(*SLA_DAYS, default=30)
    sort = choice("name", "-name", "worst", "-worst", default="name")


class ReportQuery(Paging):
    """Without `month` and `days`: the last calendar month. `zone` is that of the service where it is left out."""

    month = text(default=None, check=month_problem)
    days = whole(*SLA_DAYS, default=None)
    zone = text(1, 64, default=None, check=zone_problem)
    target = number(*TARGETS, default=TARGET)
    tag = text(1, 64, default=None)
    by = choice(*BY, default="monitor")
    sort = choice(*SORTS, default="worst")

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        both = sound.get("month") is not None and sound.get("days") is not None
        return {"days": "give only one of month and days"} if both else {}


# -- the report


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
