"""Incidents as lists show them."""

from __future__ import annotations

from collections.abc import Iterable

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.resources import Incidents
from opsapp.runtime.projection import page_rows
from opsapp.tree.damage import NAMELESS, Damage

UNREAD: JsonObject = {  # in the place of what cannot be read
    "monitor_id": "unknown",
    "monitor_name": NAMELESS,
    "started": 0,
    "duration_minutes": 0.0,
    "cause": "",
    "acknowledged_by": None,
    "updates": [],
}


def incident_rows(incidents: Incidents, ids: Iterable[str], now: float) -> list[JsonObject]:
    """These incidents as a list shows them, also one that cannot be read."""

    def unread(damage: Damage) -> JsonObject:
        status = "open" if damage.id in incidents.open else "resolved"
        return {**UNREAD, "id": damage.id, "status": status}

    return page_rows(incidents, "incident", ids, lambda incident: incident.record(now), unread)
