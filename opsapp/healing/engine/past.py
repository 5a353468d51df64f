"""Healing as it was: the tree's part of trust, rules and dependencies at a time. For `node.transact_at`."""

from __future__ import annotations

from typing import Any

from opsapp.healing.logic.thresholds import Thresholds
from opsapp.healing.resources import healing_of
from opsapp.lib.problems import NotFound
from opsapp.tree.root import Root

from .surroundings import graph_shown
from .world import failing_of


def trust(root: Root, at: int, thresholds: Thresholds) -> list[dict[str, Any]]:
    return [state.plain(at, thresholds) for state in healing_of(root)["trust"].values()]


def rules(root: Root) -> list[dict[str, Any]]:
    return [rule.plain() for rule in healing_of(root)["rules"].values()]


def rule(root: Root, rule_id: str) -> dict[str, Any]:
    found = healing_of(root)["rules"].get(rule_id)
    if found is None:
        raise NotFound("There was no such rule.")
    return dict(found.plain())


def dependencies(root: Root, at: int, window: float) -> dict[str, Any]:
    """What had failed then is what had a case: the readings of that time are not in the tree."""
    graph = healing_of(root)["dependencies"].graph()
    return graph_shown(graph, failing_of(root, None, graph.nodes, {}, float(at), window))
