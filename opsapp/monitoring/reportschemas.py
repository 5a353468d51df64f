"""Queries and answers of the reports under /api/monitoring: history, uptime, SLA, health scores."""

from __future__ import annotations

from opsapp.monitoring.logic.history import RANGE_H, RESOLUTION_S
from opsapp.monitoring.logic.score import GRADES as GRADE_BOUNDS
from opsapp.monitoring.logic.uptime import DAYS as SLA_DAYS
from opsapp.monitoring.schemas import ID, STATUSES
from opsapp.web.fields import Body, Paging, choice, list_of, map_of, number, text, whole
from opsapp.wire.plugins import MOST_METRICS

GRADES = tuple(name for _, name in GRADE_BOUNDS)


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


class SlaFigures(Body):
    uptime_percent = number(0, 100, null=True)
    total_checks = whole(0)
    downtime_minutes = number(0)
    maintenance_minutes = number(0)
    unknown_minutes = number(0)
    incidents = whole(0)
    mttr_minutes = number(0, null=True)


class UptimeFigures(SlaFigures):
    """How long a monitor was up over some days, and how much of them nobody knows."""

    days = whole(1)


class SlaEntry(SlaFigures):
    monitor_id = ID
    name = text()


class ScoreComponent(Body):
    score = number(0, 100, null=True)
    weight = number(0, 100)
    value = number(null=True)
    detail = text()


class ScoreComponents(Body):
    uptime = ScoreComponent()
    response_time = ScoreComponent()
    certificate = ScoreComponent()


class ScoreLine(Body):
    monitor_id = ID
    name = text()
    score = number(0, 100, null=True)
    grade = choice(*GRADES, null=True)


class MonitorScore(ScoreLine):
    components = ScoreComponents()


class AggregateScore(Body):
    score = number(0, 100, null=True)
    grade = choice(*GRADES, null=True)
    monitors = list_of(ScoreLine)
    components = ScoreComponents()
    unknown = whole(0)
