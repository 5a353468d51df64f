"""What is left of the error budgets of the monitors that a target has, from the figures of the SLA report.

In one transaction. Must not: decide what follows (`logic.stakes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.stakes import BudgetLeft, RuleBudget
from opsapp.monitoring.engine import budgets_left
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .inventory import Inventory

UNKNOWN = (BudgetLeft("", None),)  # nothing measures it, or nobody knows what was measured then


class ErrorBudgets(NamedTuple):
    """Those of one transaction."""

    root: Root
    inventory: Inventory
    graph: Graph

    def left(self, budget: RuleBudget, subject: str | None, names: frozenset[str]) -> Sequence[BudgetLeft]:
        """Of the monitor that the rule reads, or of all that a host has: those that run or act on it, and those that
        depend on it."""
        monitors = dict(self._of(subject, names))
        known = budgets_left(node_of(self.root), self.root, monitors, budget.slo, budget.window_s)
        return [BudgetLeft(name, known.get(monitor_id)) for monitor_id, name in monitors.items()] or UNKNOWN

    def _of(self, subject: str | None, names: frozenset[str]) -> Iterator[tuple[str, str]]:
        is_monitors = (subject or "").startswith("monitor:")
        below = () if is_monitors else frozenset(self.graph.hanging_on(names))
        for member in self.inventory:
            if not member.is_agent and (
                member.subject == subject
                if is_monitors
                else member.agent_id in names or not names.union(below).isdisjoint(member.names)
            ):
                yield member.subject.partition(":")[2], member.name
