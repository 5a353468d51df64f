"""When the next call of a push monitor is late: by interval or schedule, and by how long it runs. Pure."""

from __future__ import annotations

from opsapp.lib import cron
from opsapp.monitoring.logic.settings import SharedSettings


def late_at(settings: SharedSettings, called: float, started: float | None, zone: str) -> float:
    """`called`: when a run ended last; `started`: when the one began that has not ended. It has the grace for itself;
    without one it may last until another call would be due."""
    if started is None:
        return due(settings, called, zone) + settings.grace
    return started + settings.grace if settings.grace else due(settings, started, zone)


def due(settings: SharedSettings, after: float, zone: str) -> float:
    """When the first call after that moment is due."""
    if settings.schedule is None:
        return after + settings.interval
    return cron.next_time(settings.schedule, settings.schedule_zone or zone, after)
