"""The public status document from plain values. What it does not name cannot leak: no URL, no cause, no user.

Days are UTC days. A day is `{date, uptime, incidents}`; its uptime is null where nobody was looking.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from opsapp.monitoring.logic.uptime import percent

DAYS = 90
DAY_S = 86_400
OVERALL = ("operational", "degraded", "partial_outage", "major_outage", "maintenance")
STAGES = ("investigating", "identified", "monitoring", "resolved")
OUT = ("paused", "pending")  # statuses that say nothing about the service


def document(monitors: Sequence[dict], incidents: Sequence[dict], windows: Sequence[dict], now: int) -> dict:
    """`monitors`: id, name, status, days {day number: (up ms, down ms)}; `incidents`: as the API has them, newest
    first, of these monitors in the last 90 days; `windows`: maintenance that is on or to come."""
    public = [incident(each) for each in incidents]
    return {
        "overall": overall([each["status"] for each in monitors]),
        "monitors": [component(each, public, now) for each in monitors],
        "active_incidents": [each for each in public if each["status"] == "open"],
        "maintenance": [window(each) for each in windows],
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


def component(monitor: dict, incidents: Sequence[dict], now: int) -> dict:
    own = [each for each in incidents if each["monitor_id"] == monitor["id"]]
    days, today = monitor["days"], now // DAY_S
    measured = [days[day] for day in range(today - DAYS + 1, today + 1) if day in days]
    return {
        "id": monitor["id"],
        "name": monitor["name"],
        "status": monitor["status"],
        "uptime_90d": percent(sum(up for up, _ in measured), sum(down for _, down in measured)),
        "incidents": own,
        "days": [_day(day, days.get(day), own) for day in range(today - DAYS + 1, today + 1)],
    }


def incident(record: dict) -> dict:
    """What the public may know of an incident: no cause, no name, and no note of who took it up."""
    notes = (update for update in record.get("updates", ()) if update["stage"] in STAGES)
    updates = [{key: note[key] for key in ("time", "stage", "message")} for note in notes]
    names = ("id", "monitor_id", "monitor_name", "started", "resolved", "duration_minutes", "status", "part_of")
    return {**{name: record.get(name) for name in names}, "updates": updates}


def window(record: dict) -> dict:
    return {name: record[name] for name in ("name", "start", "end", "active", "monitors")}


def by_day(incidents: Sequence[dict]) -> list[dict]:
    """[{date, incidents}], newest day first; days without incidents are left out."""
    days: dict[str, list] = {}
    for each in incidents:
        days.setdefault(date(each["started"] // DAY_S), []).append(each)
    return [{"date": day, "incidents": found} for day, found in sorted(days.items(), reverse=True)]


def date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY_S, timezone.utc).date().isoformat()


def _day(day: int, spent: tuple | None, incidents: Sequence[dict]) -> dict:
    touching = [each for each in incidents if _touches(each, day)]
    return {"date": date(day), "uptime": percent(*spent) if spent else None, "incidents": len(touching)}


def _touches(each: dict, day: int) -> bool:
    resolved = each["resolved"]
    return each["started"] < (day + 1) * DAY_S and (resolved is None or resolved >= day * DAY_S)
