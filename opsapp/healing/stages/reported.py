"""What an agent reports of healing alone: whether it could have been alone then, and had the right to act so often.

Whoever has an agent's key can make reports up. So they count only for times in which the service had not heard from the
host, and only as far as the budget goes that the host had been given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

UNSURE_S = 2.0  # so well two clocks are known to agree, once a host's skew is measured
BEYOND = "beyond_budget"


class Terms(NamedTuple):
    """What a host had been given: so many heals within the window."""

    budget: int
    window_s: float


class Begun(NamedTuple):
    """A step that was taken for true."""

    at: float
    rule_id: str
    target: str
    step: int
    escalated: bool  # a further step of the same case was to follow


def refusal(
    outcome: Mapping[str, Any], terms: Terms | None, silences: Iterable[tuple[float, float]], begun: Sequence[Begun]
) -> str | None:
    """Why this outcome is not taken for true; None when it is."""
    at = outcome["created_at"]
    if not any(since - UNSURE_S <= at <= until + UNSURE_S for since, until in silences):
        return f"{BEYOND}: the service had heard from the host at that time"
    if terms is None:
        return f"{BEYOND}: the host had been given no policies"
    if outcome["escalation_step"] > 0 and _follows(outcome, begun):
        return None
    spent = sum(at - terms.window_s < one.at <= at + UNSURE_S for one in begun)
    if spent >= terms.budget:
        return f"{BEYOND}: {spent} of {terms.budget} heals within {terms.window_s:g} s"
    return None


def _follows(outcome: Mapping[str, Any], begun: Sequence[Begun]) -> bool:
    """Whether it is the next step of a case that is known: the budget is asked at a case's first step only."""
    same = [one for one in begun if (one.rule_id, one.target) == (outcome["rule_id"], outcome["target"])]
    return bool(same) and same[-1].escalated and same[-1].step < outcome["escalation_step"]


def noted(outcome: Mapping[str, Any], begun: Sequence[Begun], *, keep_s: float, most: int) -> tuple[Begun, ...]:
    """What is remembered once it was taken for true."""
    at = outcome["created_at"]
    step = Begun(at, outcome["rule_id"], outcome["target"], outcome["escalation_step"], bool(outcome.get("escalated")))
    return (*(one for one in begun if at - one.at < keep_s), step)[-most:]
