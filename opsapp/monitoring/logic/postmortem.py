"""A post-mortem as Markdown: what is known of an incident, for people to go on writing.

From the war room's document to text. It says what is not known too. Must not: judge people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.records import IncidentRecord, StandsOn, WarRoom, WarRoomEvent
from opsapp.wire.spoken import spoken_action

SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")
HELPED = "verified"
PROMPTS = (
    "What did people notice, and how many?",
    "What would have shown it earlier?",
    "What will keep it from coming again, and who sees to it?",
)


def document(known: WarRoom, now: float) -> str:
    incident = known.incident
    parts = [
        f"# {plain(incident.monitor_name)}: {moment(incident.started)}",
        _facts(incident, known.dependencies, now),
        "## Timeline\n\n" + "\n".join(_event(event) for event in known.events),
        "## What was done\n\n" + _heals(known.heals),
        "## Open points\n\n" + "\n".join(f"- [ ] {point}" for point in open_points(known)),
    ]
    return "\n\n".join(parts) + "\n"


def file_name(incident: IncidentRecord) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", incident.monitor_name.lower()).strip("-") or "incident"
    return f"post-mortem-{name[:60]}-{_date(incident.started):%Y-%m-%d}.md"


def _facts(incident: IncidentRecord, dependencies: Sequence[StandsOn], now: float) -> str:
    over = incident.resolved
    roots = sorted({row.depends_on for row in dependencies if row.root_cause})
    rows = [
        ("Began", moment(incident.started)),
        ("Over", "not yet" if over is None else moment(over)),
        ("Lasted", f"{incident.duration_minutes:g} min" + (" so far" if over is None else "")),
        ("Seen", plain(incident.cause) or "no cause was written down"),
        ("Root cause", ", ".join(plain(name) for name in roots) or "not known"),
        ("Taken care of by", plain(incident.acknowledged_by or "nobody")),
        ("Written", moment(now)),
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {words} |" for name, words in rows)])


def _event(event: WarRoomEvent) -> str:
    who = f"{plain(event.user)}, " if event.user else ""
    return f"- **{_date(event.time):%H:%M:%S}** {who}{plain(event.kind)}: {plain(event.text)}"


def _heals(heals: Sequence[JsonObject]) -> str:
    if not heals:
        return "The machine did nothing about it."
    return "\n".join(map(_heal, heals))


def _heal(heal: JsonObject) -> str:
    what = f"- {plain(spoken_action(heal['action_type']) or 'no action')} on {plain(heal['target'])}"
    ended = f": {plain(heal['outcome'] or heal['state'])}" + (f", {plain(heal['reason'])}" if heal["reason"] else "")
    return what + ended + (f" ({heal['duration_s']:g} s)" if heal["duration_s"] else "")


def open_points(known: WarRoom) -> list[str]:
    """What the records do not answer."""
    incident, heals = known.incident, known.heals
    points = []
    if incident.resolved is None:
        points.append("It is not over yet.")
    if not any(row.root_cause for row in known.dependencies):
        points.append("What was the root cause?")
    if incident.acknowledged_by is None:
        points.append("Nobody said that they take care of it. Why?")
    if heals and not any(heal["outcome"] == HELPED for heal in heals):
        points.append("No heal helped. What would have?")
    return [*points, *PROMPTS]


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def moment(seconds: float) -> str:
    return f"{_date(seconds):%Y-%m-%d %H:%M:%S} UTC"


def _date(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)
