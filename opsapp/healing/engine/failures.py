"""Which targets have failed, as far as others depend on them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from BTrees.OOBTree import difference

from opsapp.healing.logic.graph import Graph
from opsapp.healing.resources import healing_of
from opsapp.monitoring.resources import Incident, incidents_of
from opsapp.runtime.projection import among
from opsapp.tree.root import Root

from .inventory import Inventory

Holding = Mapping[str, frozenset[str]]  # targets of which a condition is known true: the rules that say so


def failing_of(
    root: Root, inventory: Inventory | None, named: Collection[str], seen: Collection[str], now: float, window: float
) -> set[str]:
    """Targets that have failed, as far as dependants are concerned.

    With an open case, or one that ended without success within the absorption window; hosts that are away; and, where
    somebody declared them in the graph, those whose condition is still known true, and monitors that are down, whether
    a rule looks at them or not. A host that is not declared and not away does not hold its own services back for longer
    than that: its CPU being high must not keep them from being restarted.
    """
    book = healing_of(root).book
    failed = {target for target in seen if target in named}
    failed.update(book.open_on.keys())
    failed.difference_update(book.queued)
    failed.update(book.unhealed_since(now - window))
    if inventory is not None:  # what was deleted has not failed, whatever its last case came to
        failed = {target for target in failed if inventory.holds(target)} | inventory.hosts_away
        failed.update(name for name in inventory.away if name in named)
    if named:
        failed.update(name for names in down(root) for name in names if name in named)
    return failed


def down(root: Root) -> list[tuple[str, str]]:
    """(name, id) of each monitor with an open incident. They never change for one incident, and thousands may be open,
    so each incident is read once per process."""
    incidents, db = incidents_of(root), root._p_jar.db()
    known = getattr(db, "opsapp_open_incidents", {})
    of_monitors = difference(incidents.open, incidents.open_of_none)
    fresh = [incident_id for incident_id in of_monitors if incident_id not in known]
    names = {incident_id: known[incident_id] for incident_id in of_monitors if incident_id in known}
    names |= {incident_id: _about(incident) for incident_id, incident in among(incidents, "incident", fresh)}
    db.opsapp_open_incidents = names
    return list(names.values())


def _about(incident: Incident) -> tuple[str, str]:
    return incident.monitor_name, incident.monitor_id


def sick_hosts(failing: Collection[str], graph: Graph) -> int:
    """How many hosts and monitors are sick by themselves. Five failed services of one host are one sick host; what
    depends on a failed target does not count, so that a storm with one root cause does not stop its own heal."""
    own = failing if not graph.nodes else [name for name in failing if graph.suppressor(name, failing) is None]
    return len({target.partition("/")[0] for target in own})
