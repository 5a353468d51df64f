"""Incidents that are over: pages of them for an archive, and in the end they are forgotten."""

from __future__ import annotations

from functools import partial
from itertools import islice

from opsapp.lib.addresses import public
from opsapp.monitoring.logic.settings import IncidentsRetention
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.store import archive
from opsapp.runtime.store.archive import ArchivePage
from opsapp.tree.root import Root
from opsapp.wire.records import plain

PAGE = 200
DAY_S = 86400.0


def forget(root: Root, now: float, first: str) -> str | None:
    """Delete a page of old incidents; the id to go on after, or None at the end."""
    days = node_of(root).config[IncidentsRetention].days
    return incidents_of(root).forget(now - days * DAY_S, first, PAGE)


def step(node: Node) -> bool:
    first: str | None = ""
    while first is not None:
        first = node.transact(forget, node.clock.now(), first)
    return False


def start(node: Node) -> None:
    node.supervisor.add("incidents-purge", partial(step, node), every=3600.0, lease="housekeeping", cleans=True)


def archived_incidents(root: Root, after: str) -> ArchivePage:
    """A page of incidents by id, so oldest first. The one that `after` names may be forgotten by now."""
    incidents = incidents_of(root)
    ids = [incident_id for incident_id in islice(incidents.keys(after), archive.PAGE + 1) if incident_id != after]
    ids = ids[: archive.PAGE]
    readable = list(incidents.some(ids))
    rows = [public(plain(incident.record(incident.resolved))) for incident in readable if incident.resolved is not None]
    return ArchivePage(rows, ids[-1] if len(ids) == archive.PAGE else None, len(ids) - len(readable))
