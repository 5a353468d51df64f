"""Finds problems: what is healed again and again has a cause that no heal removes. Pure. Must not: say who is told."""

from __future__ import annotations

from typing import NamedTuple

STATES = ("open", "accepted", "closed")
KEPT = 200  # heals of one rule and target that are remembered


class Recurrence(NamedTuple):
    """When a rule healed a target lately, and last found it."""

    heals: tuple[float, ...] = ()
    seen_at: float = 0.0

    def healed(self, at: float) -> Recurrence:
        return Recurrence((*self.heals, at)[-KEPT:], max(at, self.seen_at))

    def seen(self, at: float) -> Recurrence:
        return self._replace(seen_at=max(at, self.seen_at))

    def since(self, at: float) -> int:
        return sum(heal > at for heal in self.heals)


class ProblemFacts(NamedTuple):
    """Past `due`, its rule asks people before it acts."""

    rule_id: str
    target: str
    opened_at: float
    state: str = "open"
    due: float | None = None
    owner: str | None = None
    note: str = ""
    closed_at: float | None = None
    heals: int = 0  # those within the window when it was closed

    @property
    def is_open(self) -> bool:
        return self.state != "closed"

    def is_overdue(self, now: float) -> bool:
        return self.is_open and self.due is not None and self.due < now

    def becomes(self, state: str, now: float) -> ProblemFacts:
        if state == self.state:
            return self
        return self._replace(state=state, closed_at=now if state == "closed" else None)
