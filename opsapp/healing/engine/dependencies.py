"""The dependency graph as the API shows it, and the mistakes in a proposed one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from opsapp.healing.logic.graph import BAD_TYPE, Graph, GraphMistake, mistakes
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources import healing_of
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .fleet_access import fleet_access
from .pipeline import world_now

WELL = ("up", "degraded")  # of a monitor


def graph_of(root: Root) -> JsonObject:
    world = world_now(root)
    return graph_shown(world.graph, world.failing, watched(root))


def watched(root: Root) -> set[str]:
    """The names of everything that is measured now and not down. Nothing is known of all other targets."""
    live = node_of(root).series.live
    names: set[str] = set()
    for member in fleet_access(root).inventory(root):
        if member.online if member.is_agent else live.value(member.subject, "status") in WELL:
            names.update((member.name, *member.names))
    return names


def graph_shown(graph: Graph, failing: Collection[str], seen: Collection[str] = ()) -> JsonObject:
    """`status` is `failed`, `ok`, or `unknown`: a target that nothing measures is never `ok`."""

    def status(target: str) -> str:
        if target in failing:
            return "failed"
        return "unknown" if not any(name in seen for name in names_of(target)) else "ok"

    nodes = [
        {
            "target": node.target,
            "type": node.type,
            "site": graph.site(node.target),
            "depends_on": list(node.depends_on),
            "status": status(node.target),
            "source": node.source,
        }
        for node in graph.nodes.values()
    ]
    edges = [{"from": node.target, "to": parent} for node in graph.nodes.values() for parent in node.depends_on]
    return {"nodes": nodes, "edges": edges, "root_causes": graph.root_causes(failing)}


def known_targets(root: Root) -> set[str]:
    """What others may depend on without a declaration: hosts, monitors, and all targets of the graph."""
    names = {name for member in fleet_access(root).inventory(root) for name in (member.name, *member.names)}
    return names | set(healing_of(root)["dependencies"].entries)


def refuse_mistakes(root: Root, entries: Iterable[JsonObject]) -> None:
    """Invalid if these entries have mistakes."""
    wrong = mistakes(entries, known_targets(root))
    if wrong:
        raise Invalid({mistake.target: mistake.error for mistake in wrong})


def mistakes_in(root: Root, entries: list[Any]) -> list[GraphMistake]:
    """Wrong types first: an entry with one cannot be part of the graph."""
    errors, sound = [], []
    for at, entry in enumerate(entries):
        wrong = _misshapen(entry)
        if wrong:
            errors.append(GraphMistake(_name(entry) or f"[{at}]", wrong))
        else:
            sound.append(entry)
    return errors + mistakes(sound, known_targets(root) | {name for name in map(_name, entries) if name})


def _name(entry: Any) -> str | None:
    name = entry.get("target") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else None


def _misshapen(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "bad type: an entry must be an object"
    if not _name(entry):
        return "bad type: target must be a string"
    unknown = entry.keys() - {"target", "type", "site", "depends_on"}
    if unknown:
        return f"unknown key: {', '.join(sorted(unknown))}"
    if not isinstance(entry.get("type", "service"), str):
        return BAD_TYPE
    if not isinstance(entry.get("site") or "", str):
        return "bad type: site must be a string"
    parents = entry.get("depends_on") or []
    if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
        return "bad type: depends_on must be a list of strings"
    return None
