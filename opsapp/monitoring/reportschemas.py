"""Queries and answers of the reports under /api/monitoring: history, uptime, SLA, health scores. What
is not here of their answers is declared in `records`."""

from __future__ import annotations

from opsapp.monitoring.logic.history import RANGE_H, RESOLUTION_S
from opsapp.monitoring.logic.uptime import DAYS as SLA_DAYS
from opsapp.monitoring.schemas import STATUSES
from opsapp.web.fields import Body, Paging, choice, map_of, number, whole
from opsapp.wire.plugins import MOST_METRICS


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
