"""What is believed of heals that an agent reports to have done alone."""

import pytest

from opsapp.healing.config import HealingSettings
from opsapp.healing.stages import reported
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.reported import BelievedStep, Terms
from opsapp.wire.records import made
from opsapp.wire.reports import AgentOutcome

pytestmark = pytest.mark.attack
AWAY = ((100.0, 200.0),)
TERMS = Terms(budget=2, window_s=3600.0)


def outcome(at=150.0, step=0, **changes):
    report = {"agent_id": "a", "outcome_id": "o", "rule_id": "r", "target": "h/x", "outcome": "verified"}
    return made(AgentOutcome, {**report, "created_at": at, "escalation_step": step, **changes})


def refusal(said, terms=TERMS, silences=AWAY, begun=()):
    found = reported.refusal(said, terms, silences, begun)
    return found and found.partition(": ")[2]


@pytest.mark.parametrize(("at", "heard"), [(97.9, True), (98.0, False), (150.0, False), (202.0, False), (202.1, True)])
def test_only_what_was_done_while_the_host_was_not_heard(at, heard):
    assert refusal(outcome(at)) == ("the service had heard from the host at that time" if heard else None)
    assert refusal(outcome(at), silences=()) == "the service had heard from the host at that time"


def test_only_within_the_budget_that_it_was_given():
    one, two = BelievedStep(110.0, "q", "h/y", 0, False), BelievedStep(120.0, "q", "h/z", 0, False)
    assert refusal(outcome(), terms=None) == "the host had been given no policies"
    assert refusal(outcome(), begun=(one,)) is None
    assert refusal(outcome(), begun=(one, two)) == "2 of 2 heals within 3600 s"
    assert refusal(outcome(), terms=Terms(2, 40.0), begun=(one, two)) is None, "the first is out of the window"


def test_the_next_step_of_a_case_is_part_of_it():
    first = BelievedStep(140.0, "r", "h/x", 0, True)
    full = Terms(1, 3600.0)
    assert refusal(outcome(step=1), full, begun=(first,)) is None
    assert refusal(outcome(step=1), full, begun=(first._replace(escalated=False),)) is not None
    assert refusal(outcome(step=1), full, begun=(first._replace(step=1),)) is not None
    assert refusal(outcome(step=1), full, begun=(first._replace(target="h/y"),)) is not None
    assert refusal(outcome(step=0), full, begun=(first,)) is not None


def test_the_further_steps_of_a_case_use_up_nothing():
    steps = [BelievedStep(110.0 + n, "r", "h/x", n, n < 3) for n in range(4)]
    assert refusal(outcome(), begun=steps) is None
    again = [BelievedStep(120.0 + n, "r", "h/x", n, n < 3) for n in range(4)]
    assert refusal(outcome(), begun=(*steps, *again)) == "2 of 2 heals within 3600 s"
    late = BelievedStep(130.0, "r", "h/x", 2, False)  # its first steps were left out
    assert refusal(outcome(), begun=(steps[0]._replace(escalated=False), late)) == "2 of 2 heals within 3600 s"


def test_what_was_believed_is_remembered_for_a_while():
    old, fresh = BelievedStep(10.0, "r", "h/x", 0, False), BelievedStep(140.0, "r", "h/x", 0, True)
    found = reported.noted(outcome(step=1), (old, fresh), keep_s=100.0, most=5)
    assert found == (fresh, BelievedStep(150.0, "r", "h/x", 1, False))
    assert len(reported.noted(outcome(), found, keep_s=100.0, most=2)) == 2


def test_reported_cases_wait_for_one_that_the_service_saw():
    start = governor.Trust("r", "execute", "execute", "", 0.0)
    limits = HealingSettings()
    trust = start
    for result in ("verified", "failed", "inconclusive"):
        trust, change = governor.reported(trust, result, 10.0, 20.0, limits)
        assert (change, trust.executions) == (None, 0)
    trust, _ = governor.recorded(trust, "verified", 30.0, limits)
    assert (trust.executions, trust.verified, trust.failed, trust.alone) == (4, 2, 1, ())
    for _ in range(10):
        trust, change = governor.reported(trust, "failed", 40.0, 50.0, limits)
        assert change is None
    assert (trust.failed, trust.streak) == (11, ())


def test_reported_failures_trip_the_breaker_after_one_that_the_service_saw():
    trust, limits = governor.Trust("r", "execute", "execute", "", 0.0), HealingSettings()
    trust, _ = governor.recorded(trust, "failed", 100.0, limits)
    trust, change = governor.reported(trust, "failed", 999.0, 120.0, limits)
    assert (change, trust.streak) == (None, (100.0, 120.0))
    trust, change = governor.reported(trust, "failed", 110.0, 120.0, limits)
    assert change is not None
    assert trust.current_level == "notify"
