"""What an agent reports of healing alone. Whoever has its key can make reports up: they count only for times in which
the service had not heard from the host, and within the budget that it had been given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opsapp.wire.heals import used_up
from opsapp.wire.reports import AgentOutcome

UNSURE_S = 2.0  # so well two clocks are known to agree, once a host's skew is measured
BEYOND = "beyond_budget"


class Terms(NamedTuple):
    """Heals within the window."""

    budget: int
    window_s: float


class BelievedStep(NamedTuple):
    at: float
    rule_id: str
    target: str
    step: int
    escalated: bool  # a further step of the same case was to follow


def refusal(
    outcome: AgentOutcome,
    terms: Terms | None,
    silences: Iterable[tuple[float, float]],
    believed: Sequence[BelievedStep],
) -> str | None:
    """Why it is not taken for true."""
    at = outcome.created_at
    if not any(since - UNSURE_S <= at <= until + UNSURE_S for since, until in silences):
        return f"{BEYOND}: the service had heard from the host at that time"
    if terms is None:
        return f"{BEYOND}: the host had been given no policies"
    if outcome.escalation_step > 0 and _goes_on(_step_of(outcome), believed):
        return None  # only the first step of a case counts against the budget
    first = (step for n, step in enumerate(believed) if not _goes_on(step, believed[:n]))
    spent = sum(at - terms.window_s < step.at <= at + UNSURE_S for step in first)
    if used_up(spent, terms.budget):
        return f"{BEYOND}: {spent} of {terms.budget} heals within {terms.window_s:g} s"
    return None


def _goes_on(step: BelievedStep, before: Sequence[BelievedStep]) -> bool:
    same = [other for other in before if (other.rule_id, other.target) == (step.rule_id, step.target)]
    return bool(same) and same[-1].escalated and same[-1].step < step.step


def _step_of(outcome: AgentOutcome) -> BelievedStep:
    return BelievedStep(outcome.created_at, outcome.rule_id, outcome.target, outcome.escalation_step, outcome.escalated)


def noted(
    outcome: AgentOutcome, believed: Sequence[BelievedStep], *, keep_s: float, most: int
) -> tuple[BelievedStep, ...]:
    at = outcome.created_at
    return (*(step for step in believed if at - step.at < keep_s), _step_of(outcome))[-most:]
