"""Trust, rules and dependencies as they were. For `node.transact_at`."""

from __future__ import annotations

from opsapp.healing.answers import TrustShown
from opsapp.healing.config import HealingSettings
from opsapp.healing.records import DependencyGraph, RuleRecord
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import Rule
from opsapp.lib.problems import NotFound
from opsapp.tree.root import Root

from .dependencies import graph_shown
from .world import failing_of


def trust(root: Root, at: int, settings: HealingSettings) -> list[TrustShown]:
    return [state.shown(at, settings) for state in healing_of(root).trust.values()]


def rules(root: Root) -> list[RuleRecord]:
    return [rule.record for rule in healing_of(root).rules.values()]


def rule(root: Root, rule_id: str) -> RuleRecord:
    stored: Rule | None = healing_of(root).rules.get(rule_id)
    if stored is None:
        raise NotFound("There was no such rule.")
    return stored.record


def dependencies(root: Root, at: int, window: float) -> DependencyGraph:
    """Failed are the targets that had a case: the tree has no readings of that time."""
    stored = healing_of(root).dependencies
    graph = stored.graph()
    failing = failing_of(root, None, graph.nodes, {}, float(at), window)
    return graph_shown(stored.declared("api"), graph, failing)
