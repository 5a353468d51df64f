"""What is known of each dependency, and which heals of a parent are followed now."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.logic.edges import EdgeBelief, fresh

Edge = tuple[str, str]  # child, parent


class EdgeTrial(NamedTuple):
    """Does the child come back with its healed parent, until `ends_at`?"""

    child: str
    parent: str
    healed_at: float
    ends_at: float


class EdgeBook(Persistent):
    """Keeps what was learned of edges beside the dependencies, whose graph need not be made anew for each heal."""

    def __init__(self) -> None:
        self.learned = OOTreeSet()  # edges that came from a suggestion; people have written all others
        self.beliefs = OOBTree()  # edge -> EdgeBelief
        self.trials = OOBTree()  # edge -> EdgeTrial
        self.due = OOTreeSet()  # (when it is looked at next, edge)
        self.due_of = OOBTree()  # edge -> when

    def belief(self, edge: Edge, now: float) -> EdgeBelief:
        return self.beliefs.get(edge) or fresh(edge in self.learned, now)

    def follow(self, trial: EdgeTrial, due: float) -> None:
        edge = (trial.child, trial.parent)
        self.drop(edge)
        self.trials[edge], self.due_of[edge] = trial, due
        self.due.insert((due, edge))

    def drop(self, edge: Edge) -> None:
        due = self.due_of.pop(edge, None)
        if due is not None:
            self.due.remove((due, edge))
            del self.trials[edge]

    def ready(self, now: float, limit: int) -> list[EdgeTrial]:
        return [self.trials[edge] for _, edge in islice(self.due.keys(None, (now, ("~",))), limit)]

    def shift(self, edge: Edge, by: float) -> int:
        """The clock was set: a child has as long left to come back. How many were moved."""
        trial: EdgeTrial | None = self.trials.get(edge)
        if trial is None:
            return 0
        moved = trial._replace(healed_at=trial.healed_at + by, ends_at=trial.ends_at + by)
        self.follow(moved, self.due_of[edge] + by)
        return 1

    def of_child(self, child: str) -> list[EdgeTrial]:
        return list(self.trials.values((child, ""), (child, "\U0010ffff")))

    def forget(self, edge: Edge) -> None:
        self.drop(edge)
        self.beliefs.pop(edge, None)
        if edge in self.learned:
            self.learned.remove(edge)
