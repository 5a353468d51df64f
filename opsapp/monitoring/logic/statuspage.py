"""The public status document from plain values. What it does not name cannot leak: no URL, no cause, no user.

Days are UTC days. A day is `{date, uptime, incidents}`; its uptime is null where nobody was looking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.logic.uptime import percent

DAYS = 90
DAY_S = 86_400
OVERALL = ("operational", "degraded", "partial_outage", "major_outage", "maintenance")
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


class PublicWindow(NamedTuple):
    name: str
    start: int
    end: int
    active: bool
    monitors: list[str]  # by name


def document(
    monitors: Sequence[PublicMonitor],
    incidents: Iterable[JsonObject],
    windows: Iterable[PublicWindow],
    now: int,
    notices: Sequence[JsonObject] = (),
) -> JsonObject:
    """`incidents`: as the API has them, newest first, of these monitors in the last 90 days; `windows`: maintenance
    that is on or to come; `notices`: those that people have put there, as visitors see them."""
    public = [public_incident(record) for record in incidents]
    of_monitor: dict[str, list[JsonObject]] = {}
    for incident in public:
        of_monitor.setdefault(incident["monitor_id"], []).append(incident)
    return {
        "overall": overall([monitor.status for monitor in monitors]),
        "notices": list(notices),
        "monitors": [component(monitor, of_monitor.get(monitor.id, []), now) for monitor in monitors],
        "active_incidents": [incident for incident in public if incident["status"] == "open"],
        "maintenance": [window._asdict() for window in windows],
        "history": by_day(public),
        "generated_at": now - now % 5,
    }


def overall(statuses: Iterable[str]) -> str:
    """The worst that is certain. Half of what is watched down is a major outage. Where something is
    not known (a component that nobody can see, nothing published, nothing checked yet) the document does not claim that
    all is well: of the five words there are, `degraded` claims least, and the page says it in words of its own."""
    counted = [status for status in statuses if status not in OUT]
    down = counted.count("down")
    if down:
        return "major_outage" if 2 * down >= len(counted) else "partial_outage"
    if "degraded" in counted or "unknown" in counted or not counted:
        return "degraded"
    return "maintenance" if "maintenance" in counted else "operational"


def is_known(statuses: Iterable[str]) -> bool:
    """Whether anything is known about anything."""
    return any(status not in (*OUT, "unknown") for status in statuses)


def component(monitor: PublicMonitor, own: Sequence[JsonObject], now: int) -> JsonObject:
    """`own`: the incidents of this monitor."""
    today = now // DAY_S
    numbers = range(today - DAYS + 1, today + 1)
    touched = _touched_days(own, today)
    measured = [monitor.days[day] for day in numbers if day in monitor.days]
    return {
        "id": monitor.id,
        "name": monitor.name,
        "status": monitor.status,
        "down_in_window": monitor.down_in_window,
        "uptime_90d": percent(*map(sum, zip(*measured, strict=True))) if measured and monitor.is_known else None,
        "incidents": own,
        "days": [_day(day, monitor.days.get(day), touched[day]) for day in numbers],
    }


def public_incident(record: JsonObject) -> JsonObject:
    """What the public may know of an incident: no cause, no name, and of what people said what they meant for it."""
    notes = (update for update in record.get("updates", ()) if update["public"])
    updates = [{key: note[key] for key in ("time", "stage", "message")} for note in notes]
    names = ("id", "monitor_id", "monitor_name", "started", "resolved", "duration_minutes", "status", "part_of")
    return {**{name: record.get(name) for name in names}, "updates": updates}


def by_day(incidents: Iterable[JsonObject]) -> list[JsonObject]:
    """[{date, incidents}], newest day first; days without incidents are left out."""
    days: dict[str, list[JsonObject]] = {}
    for incident in incidents:
        days.setdefault(date(incident["started"] // DAY_S), []).append(incident)
    return [{"date": day, "incidents": of_day} for day, of_day in sorted(days.items(), reverse=True)]


@lru_cache(maxsize=512)
def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, timezone.utc).date().isoformat()


def _day(day: int, spent: tuple[int, int] | None, incidents: int) -> JsonObject:
    return {"date": date(day), "uptime": percent(*spent) if spent else None, "incidents": incidents}


def _touched_days(incidents: Iterable[JsonObject], today: int) -> Counter[int]:
    """How many of these were open on each day, until today."""
    touched: Counter[int] = Counter()
    for incident in incidents:
        first, resolved = incident["started"] // DAY_S, incident["resolved"]
        last = today if resolved is None else min(today, resolved // DAY_S)
        touched.update(range(max(first, today - DAYS + 1), last + 1))
    return touched
