"""Incidents as lists show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opsapp.monitoring.interfaces import IRootCauses
from opsapp.monitoring.records import IncidentRecord
from opsapp.monitoring.resources import Incidents, incidents_of
from opsapp.runtime.node import node_of
from opsapp.tree.damage import NAMELESS, Damage
from opsapp.tree.root import Root


def incident_rows(incidents: Incidents, ids: Iterable[str], now: float) -> list[IncidentRecord]:
    def unread(damage: Damage) -> IncidentRecord:
        return IncidentRecord(
            id=damage.id,
            monitor_id="unknown",
            monitor_name=NAMELESS,
            started=0,
            duration_minutes=0.0,
            cause="",
            status="open" if damage.id in incidents.open else "resolved",
            acknowledged_by=None,
            unreadable=damage.reason,
        )

    return incidents.page_rows(ids, lambda incident: incident.record(now), unread)


def with_causes(root: Root, rows: list[IncidentRecord], now: float) -> list[IncidentRecord]:
    """Each open incident gets its cause by the graph: the failed target above it, or null."""
    causes_of = node_of(root).registry.queryUtility(IRootCauses)
    names = {row.monitor_name for row in rows if _may_have_cause(row)}
    causes = causes_of(root, names, now) if causes_of is not None and names else {}
    return [replace(row, root_cause=causes.get(row.monitor_name) if _may_have_cause(row) else None) for row in rows]


def _may_have_cause(row: IncidentRecord) -> bool:
    """An incident of no monitor has no place in the graph."""
    return row.is_open and row.monitor_id is not None


def taken_since(root: Root, monitor_id: str, since: float) -> float | None:
    """When somebody has first taken care of this monitor's newest incident, from then on."""
    ids = incidents_of(root).by_monitor.get(monitor_id)
    incident = incidents_of(root).find(ids.maxKey() if ids else None)
    notes = () if incident is None else incident.updates
    taken = (note.time for note in notes if note.stage in ("acknowledged", "assigned"))
    return next((float(at) for at in taken if at >= int(since)), None)
