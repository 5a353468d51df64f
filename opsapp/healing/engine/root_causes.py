"""What failures come from, by the graph, for whoever tells people of them.

Must not: decide; `stages.correlation` does, as for cases.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.graph import Graph
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import correlation
from opsapp.healing.stages.world import World
from opsapp.notify.interfaces import Failure, RootCause
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import after_commit
from opsapp.tree.root import Root

from . import world
from .inventory import Inventory, fleet_access
from .pipeline import engine_of


def causes_of(root: Root, targets: Collection[str], now: float) -> dict[str, str]:
    """An `IRootCauses`. A target may be named by an id. Unlike healing this asks for no rule: what is away, or has
    an open incident, has failed."""
    graph = healing_of(root).dependencies.graph()
    asked = _hanging(graph, targets)
    if not asked:
        return {}
    inventory = fleet_access(root).inventory(root)
    failing = _failing(root, inventory, graph, now)
    above = {target: graph.suppressor(inventory.in_graph(target), failing) for target in asked}
    return {target: cause[0] for target, cause in above.items() if cause is not None}


def causes(root: Root, failures: Collection[Failure], now: float) -> dict[Failure, RootCause]:
    """An `ICauses`."""
    graph = healing_of(root).dependencies.graph()
    hanging = set(_hanging(graph, [failure.target for failure in failures]))
    if not hanging:
        return {}
    inventory = fleet_access(root).inventory(root)
    seen = world.build(root, now, inventory, {})
    seen = replace(seen, failing=_failing(root, inventory, graph, now))
    asked: set[str] = set()
    causes_found: dict[Failure, RootCause] = {}
    for failure in failures:
        if failure.target in hanging:
            causes_found[failure], unmeasured = _cause(failure, seen, inventory)
            asked.update(subject for name in unmeasured for subject in inventory.measuring(name))
    _measure(root, asked)
    return causes_found


def _cause(failure: Failure, seen: World, inventory: Inventory) -> tuple[RootCause, tuple[str, ...]]:
    """Return the failure's root cause, and what has to be measured before it is known."""
    member = inventory.named(failure.target)
    since = seen.now if failure.since is None else failure.since
    above = correlation.look_above(inventory.in_graph(failure.target), member and member.subject, since, seen)
    name = None if above.cause is None else above.cause.name
    if failure.since is None:
        return RootCause(name), ()
    held, _ = correlation.held_for(above, seen.now - since, seen)
    return RootCause(name, held), above.unmeasured if held else ()


def _measure(root: Root, subjects: Collection[str]) -> None:
    node = node_of(root)
    engine = engine_of(node)
    if engine is not None and subjects:
        after_commit(root, node.post, engine.measure, sorted(subjects))


def _hanging(graph: Graph, targets: Collection[str]) -> Collection[str]:
    """Without a graph only what is on a host."""
    return targets if graph.nodes else [target for target in targets if "/" in target]


def _failing(root: Root, inventory: Inventory, graph: Graph, now: float) -> set[str]:
    window = node_of(root).config[HealingSettings].absorption_window_s
    failing = world.failing_of(root, inventory, graph.nodes, {}, now, window)
    return failing | {name for name, _ in world.down(root)}
