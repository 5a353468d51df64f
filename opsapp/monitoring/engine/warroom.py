"""All there is to know about one incident, in one document. Other rooms add their sections (IWarRoomSection)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opsapp.monitoring.engine import monitorlists
from opsapp.monitoring.engine.incident_list import with_causes
from opsapp.monitoring.engine.register import Entry
from opsapp.monitoring.engine.shownstates import state_at
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.interfaces import IWarRoomSection
from opsapp.monitoring.records import IncidentRecord, RelatedMonitor, WarRoom, WarRoomEvent
from opsapp.monitoring.resources import Incident
from opsapp.runtime.node import Node
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root

RELATED = 20


def context(node: Node, root: Root, incident: Incident, *, secrets: bool, sight: Sight | None = None) -> WarRoom:
    """`sight`: of who is in a team, for whom what other rooms add is left out, because it may name anything."""
    now = node.clock.now()
    if sight is not None:
        return _within(node, root, incident, sight, secrets=secrets)
    record = incident.record(now)
    told = [section(root, record, now) for _, section in sorted(node.registry.getUtilitiesFor(IWarRoomSection))]
    events = [event for section in told for event in section.events]
    remedies = [remedy for section in told for remedy in section.suggested_automations]
    entries = watch_of(node).entries(root)
    own = entries.get(incident.monitor_id)
    return WarRoom(
        with_causes(root, [record], now)[0],
        None if own is None else monitorlists.record(node, own, now, secrets=secrets),
        tuple(related(node, entries, incident, now)),
        in_order([*timeline(record, incident.closed_because), *events]),
        in_order([run for section in told for run in section.other_runs]),
        tuple(sorted(remedies, key=lambda remedy: -remedy.score)),
        tuple(row for section in told for row in section.dependencies),
        tuple(heal for section in told for heal in section.heals),
    )


def _within(node: Node, root: Root, incident: Incident, sight: Sight, *, secrets: bool) -> WarRoom:
    now = node.clock.now()
    record = replace(incident.record(now), root_cause=None)
    entries = {entry.id: entry for entry in monitorlists.seen(watch_of(node).entries(root).values(), sight)}
    own = entries.get(incident.monitor_id)
    return WarRoom(
        record,
        None if own is None else monitorlists.record(node, own, now, secrets=secrets),
        tuple(related(node, entries, incident, now)),
        in_order(timeline(record, incident.closed_because)),
        (),
        (),
        (),
        (),
    )


def in_order(events: list[WarRoomEvent]) -> tuple[WarRoomEvent, ...]:
    return tuple(sorted(events, key=lambda event: event.time))


def timeline(record: IncidentRecord, closed_because: str) -> list[WarRoomEvent]:
    """When it went down and came back, and what people said meanwhile."""
    name, told = record.monitor_name, record.monitor_id is None
    events = [WarRoomEvent(record.started, "down", f"{name} {'was told' if told else 'is down'}: {record.cause}")]
    events += [WarRoomEvent(note.time, note.stage, note.message, note.user) for note in record.updates]
    if record.resolved is not None:
        over = f"{name} {'is over' if told else 'is up again'}"
        kind, text = ("closed", closed_because) if closed_because else ("up", over)
        events.append(WarRoomEvent(record.resolved, kind, text))
    return events


def related(node: Node, entries: Mapping[str, Entry], incident: Incident, now: float) -> list[RelatedMonitor]:
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
        RelatedMonitor(
            entry.id,
            entry.name,
            status := state_of(entry).status,
            tuple(sorted(tags & set(entry.settings.tags))),
            entry.told.cause,
            monitorlists.since_when(node, entry, status),
        )
        for _, _, entry in matches[:RELATED]
    ]
