"""The public status document, declared and made. What it does not name cannot leak: no URL, no cause, no user.

Days are UTC days; a day's uptime is null where nobody was looking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from opsapp.monitoring.logic.uptime import percent
from opsapp.monitoring.records import (
    IncidentDay,
    PublicIncident,
    PublicNotice,
    PublicWindow,
    StatusComponent,
    StatusDay,
    StatusDocument,
)

DAYS = 90
DAY_S = 86_400
STAGES = ("investigating", "identified", "monitoring", "resolved")
OUT = ("paused", "pending")  # statuses that say nothing about the service


UpAndDown = dict[int, tuple[int, int]]  # day number -> ms up, ms down


class PublicMonitor(NamedTuple):
    id: str
    name: str
    status: str
    days: UpAndDown
    down_in_window: bool = False
    is_known: bool = True  # at least half of the time for which it has been there, of these days


def document(
    monitors: Sequence[PublicMonitor],
    incidents: Sequence[PublicIncident],
    windows: Iterable[PublicWindow],
    now: int,
    notices: Iterable[PublicNotice] = (),
) -> StatusDocument:
    """`incidents`: newest first, of these monitors in the last 90 days; `windows`: on or to come; `notices`: put up by
    people."""
    of_monitor: dict[str | None, list[PublicIncident]] = {}
    for incident in incidents:
        of_monitor.setdefault(incident.monitor_id, []).append(incident)
    return StatusDocument(
        overall([monitor.status for monitor in monitors]),
        tuple(notices),
        tuple(component(monitor, of_monitor.get(monitor.id, ()), now) for monitor in monitors),
        tuple(incident for incident in incidents if incident.status == "open"),
        tuple(windows),
        by_day(incidents),
        now - now % 5,
    )


def overall(statuses: Iterable[str]) -> str:
    """The worst that is certain. Half of what is watched down is a major outage. Where something is not known, the
    document does not claim that all is well: of the five words `degraded` claims least, and the page says it in words
    of its own."""
    counted = [status for status in statuses if status not in OUT]
    down = counted.count("down")
    if down:
        return "major_outage" if 2 * down >= len(counted) else "partial_outage"
    if "degraded" in counted or "unknown" in counted or not counted:
        return "degraded"
    return "maintenance" if "maintenance" in counted else "operational"


def is_known(statuses: Iterable[str]) -> bool:
    return any(status not in (*OUT, "unknown") for status in statuses)


def component(monitor: PublicMonitor, own: Sequence[PublicIncident], now: int) -> StatusComponent:
    """`own`: the incidents of this monitor."""
    today = now // DAY_S
    numbers = range(today - DAYS + 1, today + 1)
    touched = _touched_days(own, today)
    measured = [monitor.days[day] for day in numbers if day in monitor.days]
    return StatusComponent(
        monitor.id,
        monitor.name,
        monitor.status,
        monitor.down_in_window,
        percent(*map(sum, zip(*measured, strict=True))) if measured and monitor.is_known else None,
        tuple(own),
        tuple(_day(day, monitor.days.get(day), touched[day]) for day in numbers),
    )


def by_day(incidents: Iterable[PublicIncident]) -> tuple[IncidentDay, ...]:
    """Newest day first; days without incidents are left out."""
    days: dict[str, list[PublicIncident]] = {}
    for incident in incidents:
        days.setdefault(date(incident.started // DAY_S), []).append(incident)
    return tuple(IncidentDay(day, tuple(of_day)) for day, of_day in sorted(days.items(), reverse=True))


@lru_cache(maxsize=512)
def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, timezone.utc).date().isoformat()


@lru_cache(maxsize=4096)  # most days of most monitors are alike
def _day(day: int, spent: tuple[int, int] | None, incidents: int) -> StatusDay:
    return StatusDay(date(day), percent(*spent) if spent else None, incidents)


def _touched_days(incidents: Iterable[PublicIncident], today: int) -> Counter[int]:
    """How many of these were open on each day, until today."""
    touched: Counter[int] = Counter()
    for incident in incidents:
        first, resolved = incident.started // DAY_S, incident.resolved
        last = today if resolved is None else min(today, resolved // DAY_S)
        touched.update(range(max(first, today - DAYS + 1), last + 1))
    return touched
