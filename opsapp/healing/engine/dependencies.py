"""The dependency graph as the API shows it, and the mistakes in a proposed one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from opsapp.healing.logic.edges import confidence
from opsapp.healing.logic.graph import BAD_TYPE, Dependency, Graph, GraphMistake, GraphNode, mistakes
from opsapp.healing.logic.rules import names_of
from opsapp.healing.records import DependencyEdge, DependencyEvidence, DependencyGraph, DependencyNode
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.edges import Edge
from opsapp.healing.stages.world import World
from opsapp.lib.problems import Conflict, Invalid, NotFound
from opsapp.monitoring.engine import statuses_now
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.records import made

from .inventory import inventory_of
from .pipeline import world_now
from .world import failing_of

WELL = ("up", "degraded")  # of a monitor
MOST_EDGES = 50_000  # of a list


def graph_of(root: Root) -> DependencyGraph:
    world, declared = world_now(root), healing_of(root).dependencies.declared("api")
    return graph_shown(declared, world.graph, world.failing, watched(root), lambda edge: _sure(root, edge, world))


def _sure(root: Root, edge: Edge, world: World) -> DependencyEvidence:
    """One of which no heal has said anything has no figure."""
    book, half_life_s = healing_of(root).edges, world.settings.edges.half_life_s
    belief, learned = book.beliefs.get(edge), edge in book.learned
    if belief is None:
        return DependencyEvidence(*edge, learned=learned)
    sure = round(confidence(belief, world.now, half_life_s), 4)
    return DependencyEvidence(*edge, sure, belief.came_back, belief.stayed, learned)


def watched(root: Root) -> set[str]:
    """What is measured now and not down, by name. Nothing is known of other targets."""
    statuses = statuses_now(node_of(root), root)
    names: set[str] = set()
    for member in inventory_of(root):
        if member.online if member.is_agent else statuses.get(member.subject) in WELL:
            names.update((member.name, *member.names))
    return names


def graph_shown(
    declared: tuple[Dependency, ...],
    graph: Graph,
    failing: Collection[str],
    seen: Collection[str] = (),
    sure: Callable[[Edge], DependencyEvidence] = lambda edge: DependencyEvidence(*edge),
) -> DependencyGraph:
    """`status` is `failed`, `ok`, or `unknown`: a target that nothing measures is never `ok`."""

    def shown(node: GraphNode) -> DependencyNode:
        target = node.target
        cause, why = (graph.suppressor(target, failing) if target in failing else None) or (None, None)
        known = any(name in seen for name in names_of(target))
        status = "failed" if target in failing else "ok" if known else "unknown"
        about = {**vars(node), "site": graph.site(target)}
        return DependencyNode(**about, status=status, suppressed_by=cause, why=why)

    edges = [(node.target, parent) for node in graph.nodes.values() for parent in node.depends_on]
    return DependencyGraph(
        dependencies=declared,
        nodes=tuple(map(shown, graph.nodes.values())),
        edges=tuple(DependencyEdge(*edge) for edge in edges),
        evidence=tuple(map(sure, edges)),
        root_causes=tuple(graph.root_causes(failing)),
    )


def graph_at(root: Root, at: int, window: float) -> DependencyGraph:
    """For `node.transact_at`. Failed are the targets that had a case: the tree has no readings of that time."""
    stored = healing_of(root).dependencies
    graph = stored.graph()
    return graph_shown(stored.declared("api"), graph, failing_of(root, None, graph.nodes, {}, float(at), window))


def known_targets(root: Root) -> set[str]:
    names = {name for member in inventory_of(root) for name in (member.name, *member.names)}
    return names | set(healing_of(root).dependencies.entries)


def refuse_mistakes(root: Root, entries: Collection[Dependency]) -> None:
    _refuse_too_many(entries)
    wrong = mistakes(entries, known_targets(root))
    if wrong:
        raise Invalid({mistake.target: mistake.error for mistake in wrong})


def _refuse_too_many(entries: Iterable[Dependency]) -> None:
    edges = sum(len(entry.depends_on) for entry in entries)
    if edges > MOST_EDGES:
        raise Invalid({"dependencies": f"must name at most {MOST_EDGES} dependencies in all; there are {edges}"})


def add_edge(root: Root, target: str, parent: str) -> None:
    """Unknown targets, and an edge that would close a cycle, are refused."""
    dependencies = healing_of(root).dependencies
    graph = dependencies.graph()
    known = known_targets(root) | set(graph.nodes)
    wrong = {
        field: f"there is no {name}: no host, no monitor, nothing declared has this name"
        for field, name in (("target", target), ("depends_on", parent))
        if known.isdisjoint((name, name.partition("/")[0]))
    }
    if wrong:
        raise Invalid(wrong)
    if target == parent:
        raise Conflict(f"{target} cannot depend on itself.", code="cycle")
    path = graph.ancestors(parent).get(target)
    if path is not None:
        raise Conflict(f"That would close a circle: {' → '.join((target, *path))}.", code="cycle")
    if parent in graph.parents(target):
        raise Conflict(f"{target} depends on {parent} already.", code="known_edge")
    dependencies.add_edge(target, parent)


def add_edge_back(root: Root, edge: tuple[str, str]) -> None:
    """Add the edge again, as one that a person has confirmed."""
    add_edge(root, *edge)


def learn_edge(root: Root, target: str, parent: str) -> None:
    """Suggested from what failed together. What heals say against it takes it out again."""
    healing = healing_of(root)
    dependencies = healing.dependencies
    if target in dependencies.graph().ancestors(parent):
        raise Conflict("That edge would close a cycle.", code="cycle")
    if parent not in dependencies.graph().parents(target):
        healing.edges.learned.insert((target, parent))
    dependencies.add_edge(target, parent)


def remove_edge(root: Root, target: str, parent: str) -> None:
    """What the configuration file declares can only be taken out there."""
    dependencies = healing_of(root).dependencies
    graph = dependencies.graph()
    node = graph.nodes.get(target)
    if node is None or parent not in node.depends_on:
        raise NotFound(f"{target} does not depend on {parent}.")
    if not dependencies.remove_edge(target, parent):
        message = f"The configuration file says that {target} depends on {parent}: take it out there."
        raise Conflict(message, code="declared_in_file")
    healing_of(root).edges.forget((target, parent))


def mistakes_in(root: Root, entries: list[Any]) -> list[GraphMistake]:
    """Wrong types first: an entry with one cannot be part of the graph."""
    errors, sound = [], []
    for at, value in enumerate(entries):
        # null counts as missing
        entry = {name: part for name, part in value.items() if part is not None} if isinstance(value, dict) else value
        wrong = _misshapen(entry)
        if wrong:
            errors.append(GraphMistake(_name(entry) or f"[{at}]", wrong))
        else:
            sound.append(made(Dependency, entry))
    _refuse_too_many(sound)
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
    if not isinstance(entry.get("site", ""), str):
        return "bad type: site must be a string"
    parents = entry.get("depends_on", [])
    if not isinstance(parents, list) or not all(isinstance(parent, str) for parent in parents):
        return "bad type: depends_on must be a list of strings"
    return None
