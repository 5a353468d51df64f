"""A heal that people have to agree to. The approval is bound to a hash of the plan; what it stands on is looked at
again at the click and before the act."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from opsapp.healing.logic.levels import behaviour
from opsapp.healing.records import RUNS
from opsapp.lib.jsontypes import JsonObject

from . import execution, holdout, planning, turns, waves
from .case import AwaitingCase, CaseRecord
from .guards import Lost
from .moves import EndCase, Next, Wait
from .planning import Plan
from .trust import effective
from .turns import Neighbours
from .waves import WaveTurn
from .world import World

CONDITION_GONE = "condition_gone: the condition no longer holds"
LOOK_S = 60.0  # how often a request that nobody has decided is looked at


class Request(NamedTuple):
    """An approval as it stands, and what people were asked."""

    status: str
    by: str | None = None
    comment: str | None = None
    risk: str = "low"
    host: str | None = None
    definition: str | None = None
    plan_hash: str = ""


class AskedTarget(NamedTuple):
    """`digest`: of what would be done about it."""

    target: str
    host: str | None
    hostname: str | None
    params: Mapping[str, object]
    case_id: str
    digest: str


class HealPlan(NamedTuple):
    """What is approved, and bound by its hash. Of an automation also what it is made of, and its hosts; of an outage
    all targets."""

    action: str | None
    params: Mapping[str, object]
    step: int | None
    host: str | None
    hostname: str | None
    target: str
    condition: str
    rule_id: str
    definition: str
    rollback: str
    automation: Mapping[str, object] | None = None
    hosts: Sequence[Mapping[str, str]] | None = None
    targets: tuple[AskedTarget, ...] | None = None
    waves: str | None = None

    def stored(self) -> dict[str, object]:
        told = self._asdict() | {"targets": self.targets and [target._asdict() for target in self.targets]}
        return {name: told[name] for name in self._fields if name not in self._field_defaults or told[name] is not None}


EXPIRED = Request("expired")  # it is not there any more
Hashed = Callable[[Plan], str]  # of what people are shown of a plan


def decided(
    case: AwaitingCase, request: Request, world: World, near: Neighbours, hashed: Hashed, turn: WaveTurn
) -> Next:
    if request.status == "pending":
        return waves.stopped(case, turn) or _pending(case, request, world)
    if request.status == "approved":
        return _approved(case, request, world, near, hashed, turn)
    line = f"approval {request.status}"
    return EndCase(case.saying(line + _by(request)), request.status, request.comment or line)


def _by(request: Request) -> str:
    return f" by {request.by}" if request.by else ""


def _pending(case: AwaitingCase, request: Request, world: World) -> Next:
    """What nothing wants any more is not asked for any longer."""
    why = _unwanted(case, request, world)
    return Wait(case, world.now + LOOK_S) if why is None else EndCase(case, "withdrawn", why)


def _approved(
    case: AwaitingCase, request: Request, world: World, near: Neighbours, hashed: Hashed, wave: WaveTurn
) -> Next:
    """What people agreed to must still stand, once it is the case's turn."""
    alone = holdout.waits(case, world)
    if alone is not None:
        over = world.reading(case.about).verdict is False
        why = CONDITION_GONE if over else _unwanted(case, request, world)
        return alone if why is None else EndCase(case, "withdrawn", why)
    waits = turns.in_line(case, request.host or "", near, world.now) if case.wave or not wave.waits else None
    if waits is not None:
        return waits
    line = "approval approved" + _by(request)
    said = case if line in case.why else case.saying(line)
    gone, plan = gone_or_plan(case, request.plan_hash, world, hashed)
    if plan is None:
        return EndCase(said, "withdrawn", gone or "")
    waves_first = waves.before_turn(case, wave, world, ready=True)
    if waves_first is not None:
        return waves_first
    choice, host = plan.act
    turn = turns.before_acting(case, choice, host.agent_id, near, world)
    if turn is not None:
        return EndCase(said, "withdrawn", turn.reason) if isinstance(turn, Lost) else turn
    said, alone = holdout.toss(said, choice, world)
    return execution.begin(said, plan, world) if alone is None else alone


def _unwanted(case: AwaitingCase, request: Request, world: World) -> str | None:
    """What does not pass by itself, as a window, the brake and an absent host do: the case must not stand for an hour
    for what its rule finds."""
    if world.enabled(case.rule_id) is None:
        return "rule_disabled"
    if not world.known(case.about):
        return "target_gone"
    trust = world.trust[case.rule_id]
    if trust.definition != request.definition:
        return "rule_edited"
    level = effective(trust, source=case.about.source, caps=()).level
    return None if behaviour(level, request.risk) in ("request_approval", "execute") else f"level {level} by now"


def plan_shown(case: CaseRecord, plan: Plan, world: World, automation_of: Callable[[str], JsonObject]) -> HealPlan:
    choice, host = plan.choice, plan.host
    param = RUNS.get(choice.action.name) if choice else None
    return HealPlan(
        choice.action.name if choice else None,
        choice.params if choice else {},
        choice.step.position if choice else None,
        host.agent_id if host else None,
        host.hostname if host else None,
        case.target,
        case.about.rule_condition,
        case.rule_id,
        world.trust[case.rule_id].definition,
        execution.rollback_plan(choice.action if choice else None, None).how,
        **(automation_of(choice.params[param]) if choice and param else {}),
    )


def gone_or_plan(case: CaseRecord, plan_hash: str, world: World, hashed: Hashed) -> tuple[str | None, Plan | None]:
    """Why an approval no longer stands; or the plan that it stands for."""
    if case.state != "awaiting_approval" or case.rule_id not in world.rules:
        return "the case or its rule is gone", None
    if not world.known(case.about):
        return "target_gone: it is no longer looked at", None
    if world.paused:
        return "healing is paused", None
    if world.reading(case.about).verdict is False:
        return CONDITION_GONE, None
    plan = planning.plan(case, world)
    if plan.would not in ("request_approval", "execute"):
        return f"the plan has changed: {plan.reason or plan.would}", None
    return ("the plan has changed", None) if hashed(plan) != plan_hash else (None, plan)
