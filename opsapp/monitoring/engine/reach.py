"""Which tags monitors and incidents have, for what teams may see (`web.sight`). An incident has its monitor's present
tags; without a monitor it has none, and no team sees it.
"""

from __future__ import annotations

from collections.abc import Collection

from opsapp.monitoring.resources import Incident, Monitor, monitors_of
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node
from opsapp.tree.root import root_above

from .watch import register_of


def tags_of_monitor(monitor: Monitor) -> Collection[str]:
    return tuple(monitor.settings.get("tags", ()))


def tags_of_incident(incident: Incident) -> Collection[str]:
    monitor = monitors_of(root_above(incident)).find(incident.monitor_id)
    return () if monitor is None else tags_of_monitor(monitor)


def tags_of_monitor_event(node: Node, event: Event) -> Collection[str]:
    return _known(node, event.data.get("id"))


def tags_of_incident_event(node: Node, event: Event) -> Collection[str]:
    return _known(node, event.data.get("monitor_id"))


def _known(node: Node, monitor_id: str | None) -> Collection[str]:
    entry = register_of(node).entries.get(monitor_id or "")
    return () if entry is None else entry.settings.tags
