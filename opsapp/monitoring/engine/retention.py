"""Incidents that were over long ago are forgotten, a page of them in a transaction."""

from __future__ import annotations

from functools import partial

from opsapp.monitoring.logic.settings import IncidentsRetention
from opsapp.monitoring.resources import ALL, incidents_of
from opsapp.runtime.node import Node, node_of
from opsapp.tree.counted import StoredCounts
from opsapp.tree.root import Root

PAGE = 200
DAY_S = 86400.0


def forget(root: Root, now: float, first: str) -> str | None:
    """A page of them; the id to go on after, or None at the end."""
    days = node_of(root).config[IncidentsRetention].days
    return incidents_of(root).forget(now - days * DAY_S, first, PAGE)


def step(node: Node) -> bool:
    first: str | None = ""
    while first is not None:
        first = node.transact(forget, node.clock.now(), first)
    return False


def start(node: Node) -> None:
    node.supervisor.add("incidents-purge", partial(step, node), every=3600.0, lease="housekeeping", cleans=True)


def count_incidents(root: Root) -> None:
    """An older store has no counts."""
    incidents = incidents_of(root)
    incidents.counts = StoredCounts()
    incidents.counts.add(ALL, by=len(incidents.tree))
    for monitor_id, ids in incidents.by_monitor.items():
        incidents.counts.add(monitor_id, by=len(ids))
