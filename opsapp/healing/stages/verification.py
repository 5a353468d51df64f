"""Stage 4, verification: what a fresh look at the right host says about the original condition."""

from __future__ import annotations

from typing import Any, NamedTuple

from opsapp.wire.actions import Action

from .world import Reading


class Verdict(NamedTuple):
    """`outcome` is None while nothing fresh is known and there is time left."""

    outcome: str | None
    reason: str = ""


def verify(reading: Reading, *, settled_at: float, deadline: float, now: float) -> Verdict:
    """Only readings taken after the settle time count. Known false is the one way to `verified`."""
    fresh = reading.measured_at is not None and reading.measured_at >= settled_at
    if fresh and reading.verdict is False:
        return Verdict("verified", "the condition is known false")
    if fresh and reading.verdict is True:
        return Verdict("failed", "the condition still holds")
    if now >= deadline:
        return Verdict("inconclusive", "stale: nothing fresh was reported" if not fresh else "the condition is unknown")
    return Verdict(None)


def afterwards(outcome: str, action: Action, snapshot: dict[str, Any] | None) -> str:
    """`close`, `rollback` or `escalate`. What is not known is never rolled back, but for what may have cut the host
    off: nobody confirms that, so its agent undoes it, and all that is left is to hear of it."""
    if outcome == "verified":
        return "close"
    back = outcome == "failed" or (outcome == "inconclusive" and action.armed_s is not None)
    return "rollback" if back and action.reversible and snapshot is not None else "escalate"
