"""Healing as it was: the tree's part of trust, rules and dependencies at a time. For `node.transact_at`."""

from __future__ import annotations

from opsapp.healing.config import HealingSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.signedtrust import TRUST
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import NotFound
from opsapp.runtime.projection import readable
from opsapp.tree.root import Root

from .dependencies import graph_shown
from .failures import failing_of


def trust(root: Root, at: int, settings: HealingSettings) -> list[JsonObject]:
    return [state.plain(at, settings) for _, state in readable(healing_of(root)["trust"], TRUST)]


def rules(root: Root) -> list[JsonObject]:
    return [rule.plain() for _, rule in readable(healing_of(root)["rules"], "rule")]


def rule(root: Root, rule_id: str) -> JsonObject:
    stored = healing_of(root)["rules"].get(rule_id)
    if stored is None:
        raise NotFound("There was no such rule.")
    return dict(stored.plain())


def dependencies(root: Root, at: int, window: float) -> JsonObject:
    """Failed are the targets that had a case then: the tree has no readings of that time."""
    stored = healing_of(root)["dependencies"]
    graph = stored.graph()
    shown = graph_shown(graph, failing_of(root, None, graph.nodes, {}, float(at), window))
    return {"dependencies": stored.declared("api"), **shown}
