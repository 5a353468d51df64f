"""Asks the host for the cause before each step; the cause rules out steps. A look only reads, and is short. Without an
answer in time the case goes on as if nobody had asked. Must not: decide what is done."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeVar

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES
from opsapp.healing.logic.rules import part_of
from opsapp.wire.causes import CAUSES, LOOKS, HostCause, LookSubject, subject_of

from .attempt import CauseNamed, FoundCause
from .case import CaseRecord, PlanningCase
from .moves import AskCause, Wait
from .planning import Plan
from .timing import POLL_S
from .world import Host, World

LOOK_WAIT_S = 5.0  # so long a case waits for a look, the way to the host and back included
TOLD = ("execute", "request_approval", "notify", "nothing")  # what is only counted or tried dry asks nobody
AnyCase = TypeVar("AnyCase", bound=CaseRecord)


class LookAnswer(NamedTuple):
    """None: no cause is known."""

    cause: HostCause | None


def host_of(case: CaseRecord, plan: Plan, world: World) -> Host | None:
    """The host that the case is about, if its agent can look."""
    host = world.hosts.get(case.about.agent_id or "") or plan.host
    return host if host is not None and host.online and LOOKS in (host.usable or ()) else None


def subject(case: CaseRecord, world: World) -> LookSubject:
    """What the steps that are left are about, and the condition."""
    part, params = part_of(case.target), {}
    for step in reversed(world.steps(case.rule_id)[case.step :]):
        params.update(world.actions[step.action].complete(step.params, part))
    return subject_of(case.about.condition, params)


def before_step(
    case: PlanningCase, plan: Plan, answer: LookAnswer | None, world: World
) -> tuple[PlanningCase, AskCause | Wait | None]:
    """The case before its next step, and what follows while the host is asked for the cause."""
    if case.looked == case.step:
        return case, None
    if case.look is not None:
        if answer is None and world.now < case.look.until:
            return case, Wait(case, min(world.now + POLL_S, case.look.until))
        return _looked(case, answer, subject(case, world).service), None
    host = host_of(case, plan, world) if _is_asked(case, plan) else None
    asked = None if host is None else subject(case, world)
    if host is None or asked == LookSubject():
        return replace(known(case, None), looked=case.step), None
    assert asked is not None
    waits = replace(case, waits_from=case.waits_from or world.now)  # a slow look makes what was measured before it old
    return case, AskCause(waits, host.agent_id, asked, world.now + LOOK_WAIT_S)


def _is_asked(case: PlanningCase, plan: Plan) -> bool:
    """What is only predicted is not so yet; while the brake is on there is too much to ask."""
    return plan.would in TOLD and plan.brake is None and case.about.source not in PREDICTIVE_SOURCES


def not_asked(case: PlanningCase, why: str) -> PlanningCase:
    return replace(known(case, None), looked=case.step).saying(f"cause unknown: {why}")


def known(case: AnyCase, cause: HostCause | None, unit: str | None = None) -> AnyCase:
    """Evidence may be lines of the unit's log."""
    if cause is None:
        return replace(case, cause=None)
    return replace(case, cause=FoundCause(cause.id, cause.sentence, tuple(cause.evidence), unit))


def named(cause: CauseNamed | None) -> CauseNamed | None:
    """The cause as everybody may see it, without evidence."""
    return None if cause is None else CauseNamed(cause.id, cause.text)


def by_hand(cause: CauseNamed | None) -> str:
    """Where no step can help; else ""."""
    kind = CAUSES.get(cause.id) if cause else None
    return kind.by_hand if kind is not None and kind.no_step_helps else ""


def _looked(case: PlanningCase, answer: LookAnswer | None, unit: str | None) -> PlanningCase:
    case = replace(known(case, answer.cause if answer else None, unit), look=None, looked=case.step)
    if case.cause is not None:
        return case.saying(f"cause {case.cause.id}: {case.cause.text}")
    return case.saying("cause unknown" if answer else "cause unknown: the host did not answer in time")
