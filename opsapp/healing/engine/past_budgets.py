"""What was left of error budgets at a time of the past, for a draft rule that asks for one.

Which monitors a decision asks about, only the decision says. So a rehearsal is told that it is unknown, and goes once
more when what it has asked for was read. Must not: decide what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opsapp.healing.logic.stakes import BudgetLeft, RuleBudget
from opsapp.monitoring.engine import BudgetPast, budget_pasts
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .world import UNKNOWN, MeasuringMonitors

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


class PastBudgets:
    """Between two times. Which monitors there are, and what hangs on what, is as it is now."""

    def __init__(self, measuring: MeasuringMonitors, since: float, until: float) -> None:
        self.measuring, self.since, self.until = measuring, since, until
        self.known: dict[str, BudgetPast] = {}
        self.missing: set[str] = set()  # asked for, and not read yet
        self._window_s = 0.0

    def left(self, at: float, budget: RuleBudget, subject: str | None, names: frozenset[str]) -> Sequence[BudgetLeft]:
        monitors, self._window_s = self.measuring.of(subject, names), budget.window_s
        self.missing |= monitors.keys() - self.known.keys()
        return [BudgetLeft(name, self._of(monitor_id, at, budget)) for monitor_id, name in monitors.items()] or UNKNOWN

    def _of(self, monitor_id: str, at: float, budget: RuleBudget) -> float | None:
        past = self.known.get(monitor_id)
        return None if past is None else past.left(int(at * 1000), budget.slo, budget.window_s)

    def learn(self, node: Node) -> bool:
        """Outside any transaction. Whether there is more to go by than before."""
        if not self.missing:
            return False
        wanted, self.missing = self.missing, set()
        self.known |= node.transact(self._read, wanted)
        return True

    def _read(self, root: Root, wanted: set[str]) -> dict[str, BudgetPast]:
        pasts = budget_pasts(node_of(root), root, wanted, self.since, self.until, self._window_s)
        return {monitor_id: pasts.get(monitor_id, BudgetPast(0, ())) for monitor_id in wanted}
