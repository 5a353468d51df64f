"""Decides what follows for a case, by its state."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from opsapp.wire.heals import HostAnswer

from . import approval, correlation, execution, guards, holdout, looking, planning, turns, verification, waves
from .approval import EXPIRED, Hashed, Request
from .case import (
    AwaitingCase,
    CaseRecord,
    ClosedCase,
    CommandedCase,
    CorrelatingCase,
    PlanningCase,
    SettlingCase,
    VerifyingCase,
)
from .guards import Lost
from .looking import LookAnswer
from .moves import AskApproval, EndCase, FinishLate, Next, NextStep, Wait
from .planning import Plan
from .turns import Neighbours
from .verification import Surroundings
from .waves import WaveTurn
from .world import World


class Facts(NamedTuple):
    """Known beside the world. `token` fences the present lease."""

    token: int = 0
    near: Neighbours = Neighbours()
    answer: HostAnswer | None = None
    request: Request = EXPIRED
    hashed: Hashed = lambda _: ""
    around: Surroundings = Surroundings()
    look: LookAnswer | None = None
    wave: WaveTurn = WaveTurn()


def following(case: CaseRecord, world: World, facts: Facts) -> Next:
    if isinstance(case, CorrelatingCase):
        return correlation.hold_over(case, world)
    if isinstance(case, PlanningCase):
        return planned(case, world, facts)
    if isinstance(case, AwaitingCase):
        return approval.decided(case, facts.request, world, facts.near, facts.hashed, facts.wave)
    if isinstance(case, CommandedCase):
        answer = facts.answer or execution.overdue(case, world)
        return execution.waits(case, world) if answer is None else execution.answered(case, answer, world)
    if isinstance(case, SettlingCase):
        return verification.settled(case, world, facts.token)
    if isinstance(case, VerifyingCase):
        return verification.looked_at(case, facts.around, world, facts.token)
    assert isinstance(case, ClosedCase)
    return FinishLate(case, f"case {case.id} is about the same target")


def planned(case: PlanningCase, world: World, facts: Facts) -> Next:
    """Stage 2."""
    lost = guards.lost(case, world)
    if lost is not None:
        return guards.stopped(case, lost)
    plan = planning.plan(case, world)
    waits = _host_away(case, plan, world)
    if waits is not None:
        return waits
    case, looks = looking.before_step(replace(case, waits_since=None), plan, facts.look, world)
    if looks is not None:
        return looks
    if case.cause is not None:  # some steps are in vain by it
        plan = planning.plan(case, world)
    if plan.outcome is None:
        ready = plan.would == "execute"
        put_off = holdout.put_off(case, plan, world) or waves.before_turn(case, facts.wave, world, ready=ready)
        if put_off is not None:
            return put_off
    if plan.would == "execute":
        choice, host = plan.act
        turn = turns.before_acting(case, choice, host.agent_id, facts.near, world)
        if turn is not None:
            return guards.stopped(case, turn) if isinstance(turn, Lost) else turn
        case, alone = holdout.toss(case, choice, world)
        if alone is not None:
            return alone
    case = replace(case, level=plan.effective.level, lowered=plan.effective.lowered).saying(*plan.why)
    if plan.choice is not None:
        case = replace(case, step=plan.choice.step.position)
    if plan.outcome is not None:
        return _ended(case, plan, plan.outcome, world)
    if plan.would == "request_approval":
        asked = case.becomes(AwaitingCase, waits_from=world.now)
        return AskApproval(asked, plan, world.now + approval.LOOK_S)
    return execution.begin(case, plan, world, tells=plan.tell)


def _host_away(case: PlanningCase, plan: Plan, world: World) -> Wait | None:
    """It gets as long as a command would: after our restart nobody has been heard yet."""
    since = case.waits_since or world.now
    if not plan.reason.startswith(planning.OFFLINE) or world.now - since >= world.settings.command_expiry_s:
        return None
    if case.waits_since is None:
        case = case.saying(f"{plan.reason}: waiting for it")
    return Wait(replace(case, waits_since=since, waits_from=case.waits_from or since), world.now + turns.POLL_S)


def _ended(case: PlanningCase, plan: Plan, outcome: str, world: World) -> NextStep | EndCase:
    """A step that could not begin is recorded, and the next one planned."""
    if outcome == "failed" and plan.choice is not None and case.step + 1 < len(world.steps(case.rule_id)):
        return NextStep(case, outcome, plan.reason, plan)
    return EndCase(case, outcome, plan.reason, plan, notifies=outcome == "notified")
