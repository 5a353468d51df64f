"""All there is to know about one incident, in one document. Other rooms add their sections (IWarRoomSection)."""

from __future__ import annotations

from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.engine import monitorlists
from opsapp.monitoring.engine.incident_list import with_causes
from opsapp.monitoring.engine.shownstates import state_at
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.interfaces import IWarRoomSection
from opsapp.monitoring.resources import Incident
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

SECTIONS = ("events", "other_runs", "suggested_automations", "dependencies", "heals")
RELATED = 20


def context(node: Node, root: Root, incident: Incident, *, secrets: bool) -> JsonObject:
    now = node.clock.now()
    record = incident.record(now)
    sections: dict[str, list[Any]] = {name: [] for name in SECTIONS}
    sections["events"] = timeline(record, incident.closed_because)
    for _, section in sorted(node.registry.getUtilitiesFor(IWarRoomSection)):
        for name, rows in section(root, record, now).items():
            sections[name] += rows
    for name in ("events", "other_runs"):
        sections[name].sort(key=lambda event: event["time"])
    sections["suggested_automations"].sort(key=lambda row: -row.get("score", 0))
    entries = watch_of(node).entries(root)
    own = entries.get(incident.monitor_id)
    return {
        "incident": with_causes(root, [record], now)[0],
        "monitor": None if own is None else monitorlists.record(node, own, now, secrets=secrets),
        "related_monitors": related(node, entries, incident, now),
        **sections,
    }


def timeline(record: JsonObject, closed_because: str) -> list[JsonObject]:
    """What the incident itself knows: when it went down and came back, and what people said meanwhile."""
    name, told = record["monitor_name"], record["monitor_id"] is None
    begins = f"{name} {'was told' if told else 'is down'}: {record['cause']}"
    events = [{"time": record["started"], "kind": "down", "text": begins}]
    events += [
        {"time": update["time"], "kind": update["stage"], "text": update["message"], "user": update["user"]}
        for update in record["updates"]
    ]
    if "resolved" in record:
        over = f"{name} {'is over' if told else 'is up again'}"
        kind, text = ("closed", closed_because) if closed_because else ("up", over)
        events.append({"time": record["resolved"], "kind": kind, "text": text})
    return events


def related(node: Node, entries: JsonObject, incident: Incident, now: float) -> list[JsonObject]:
    """Monitors that share a tag, most tags in common first."""
    tags = set(incident.tags)
    matches = [
        (-len(shared), entry.name, entry)
        for entry in entries.values()
        if entry.id != incident.monitor_id and (shared := tags & set(entry.settings.tags))
    ]
    matches.sort(key=lambda row: row[:2])
    state_of = state_at(node, now)
    return [
        {
            "id": entry.id,
            "name": entry.name,
            "status": (status := state_of(entry).status),
            "tags": sorted(tags & set(entry.settings.tags)),
            "cause": entry.told.cause,
            "since": monitorlists.since_when(node, entry, status),
        }
        for _, _, entry in matches[:RELATED]
    ]
