"""Stage 4, verification: looks at the condition from the settle time until one proves the heal, or the deadline.
`wire.verdicts` says what they mean."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import reread
from opsapp.wire.harms import Harm
from opsapp.wire.heals import afterwards
from opsapp.wire.verdicts import ASK_AGAIN_S, VERIFIED, WAIT, WORSE, ConditionLook, HealJudgement, came_back, judge

from .case import CaseRecord, ConfirmingCase, Metrics, SettlingCase, VerifyingCase
from .execution import end_step, roll_back
from .moves import EntryFields, Measure, Next, SendCommand, Wait
from .timing import POLL_S, patience_of, settle_of
from .world import World

LOOK_S = 1.0  # between two looks
STEADY_ASK_S = 2.0  # so soon it is measured again where it is well and has to stay so
REJOIN_S = 30.0  # so long hosts have to be heard again after a restart of ours


class Surroundings(NamedTuple):
    """`unmeasured`: targets that may be worse, not measured since the settle time."""

    harms: tuple[Harm, ...] = ()
    unmeasured: tuple[str, ...] = ()


def settled(case: SettlingCase, world: World, token: int) -> Measure:
    """Have it measured afresh."""
    settle, patience = settle_of(case.rule_id, ACTIONS[case.heal.action], world), patience_of(case.rule_id, world)
    earliest = world.now if case.heal.acted_at is None else case.heal.acted_at + settle
    flaps = comes_and_goes(case, world)
    verifying = case.becomes(VerifyingCase, settled_at=earliest, deadline=earliest + patience, flaps=flaps)
    return _ask(_late(verifying, patience, world), world, token, {"state": "verifying"})


def comes_and_goes(case: CaseRecord, world: World) -> bool:
    """A second alert that the case has absorbed says that the condition was over in between."""
    return case.events.get(case.rule_id, 0) > 1 or came_back(case.opened_at, world.well_since(case.target))


def _late(case: VerifyingCase, patience: float, world: World) -> VerifyingCase:
    """Nobody was there for a part of the window: there is time for one measurement at least."""
    return replace(case, deadline=max(case.deadline, world.now + min(patience, REJOIN_S)))


def _ask(case: VerifyingCase, world: World, token: int, entry: EntryFields | None = None) -> Measure:
    asking = replace(case, asked_at=world.now, asked_under=token)
    return Measure(asking, case.heal.heal_id, case.deadline - world.now, world.now + POLL_S, entry)


def looked_at(case: VerifyingCase, around: Surroundings, world: World, token: int) -> Next:
    is_taken_over = case.asked_under != token  # asked by a process that is gone: nobody was there to hear the answer
    if is_taken_over:
        case = _late(case, patience_of(case.rule_id, world), world)
    reading = world.reading(case.about)
    look = ConditionLook(reading.verdict, _counts_at(case, reading.measured_at))
    seen = case.seen._replace(flaps=case.flaps or comes_and_goes(case, world))
    judgement = judge(seen, look, case.window, world.now, around.harms)
    case = case.having(judgement.seen)
    if judgement.kind != WAIT:
        return _judged(case, judgement, around, reading.metrics, world)
    again_s = STEADY_ASK_S if case.well_looks else ASK_AGAIN_S
    if is_taken_over or world.now - case.asked_at >= again_s:
        return _ask(case, world, token)
    return Wait(case, min(world.now + LOOK_S, case.deadline), around.unmeasured)


def _counts_at(case: VerifyingCase, measured_at: float | None) -> float | None:
    """What others have told since the act holds: they do not say it again after the settle time."""
    acted_at = case.heal.acted_at
    condition = reread(case.about.condition)
    if (
        measured_at is None
        or acted_at is None
        or measured_at < acted_at
        or condition is None
        or not condition.only_told
    ):
        return measured_at
    return max(measured_at, case.settled_at)


def _judged(
    case: VerifyingCase, judgement: HealJudgement, around: Surroundings, metrics: Metrics, world: World
) -> Next:
    entry: EntryFields = {"metrics_after": metrics}
    outcome = judgement.outcome
    if judgement.kind == WORSE:
        entry["worse"] = around.harms
    then = afterwards(outcome, ACTIONS[case.heal.action], case.heal.snapshot is not None)
    if then == "rollback":
        return roll_back(case, outcome, judgement.reason, entry)
    if outcome == VERIFIED:
        case = replace(case, recovered_at=judgement.seen.well_since)
    if outcome == VERIFIED and case.heal.armed:
        confirming = case.saying("verified; confirming what the agent would undo").becomes(ConfirmingCase)
        return SendCommand(confirming, entry=entry)
    return end_step(case, outcome, judgement.reason, world, entry)
