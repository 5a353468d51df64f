"""Evolve steps of monitors and incidents. Must not: be called by anything else."""

from __future__ import annotations

from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.tree.counted import StoredCounts
from opsapp.tree.root import Root

from .resources import ALL, Incidents, Monitoring, Monitors, incidents_of, monitoring_of, push_addresses


def set_up(root: Root) -> None:
    monitoring = monitoring_of.put(root, Monitoring())
    monitoring["endpoints"] = Monitors()
    monitoring["incidents"] = Incidents()
    push_addresses.put(root, OOBTree())


def count_incidents(root: Root) -> None:
    """An older store has no counts."""
    incidents = incidents_of(root)
    incidents.counts = StoredCounts()
    incidents.counts.add(ALL, by=len(incidents.tree))
    for monitor_id, ids in incidents.by_monitor.items():
        incidents.counts.add(monitor_id, by=len(ids))


def index_taken(root: Root) -> None:
    """An older store does not know whose its open incidents are."""
    incidents = incidents_of(root)
    incidents.taken = OOTreeSet()
    for incident in incidents.some(incidents.open):
        incident.become_of(incident.acknowledged_by)
