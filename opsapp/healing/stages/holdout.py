"""Cases that are left alone for a while before anything is done: to learn what recovers by itself, or because waiting
costs the least downtime.

Which cases are left alone to learn, a coin says that is drawn from the case's id with the store's key. It is committed
with the wait, before the window begins. A case that recovers meanwhile ends; else it goes on as if nothing had been.
"""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.logic.levels import rank_of_risk

from .case import CaseRecord, PlanningCase
from .moves import Wait
from .planning import Plan, StepChoice
from .timing import patience_of, settle_of
from .world import World

FEW_CONTROLS = 5  # a rule that asks people needs so many, and has one case in so many left alone until then
LEARNED = "learned"


def put_off(case: PlanningCase, plan: Plan, world: World) -> Wait | None:
    """Until when nothing is done about this case, and nobody asked; None: it goes on."""
    if case.left_until is not None:
        return Wait(case, case.left_until) if world.now < case.left_until else None
    if case.step or case.tried or case.about.source != "alert" or not case.about.subject or plan.choice is None:
        return None
    until, why = _until(case, plan, plan.choice, world)
    if until <= world.now:
        return None
    left = replace(case.saying(f"{why} for {until - world.now:.0f} s"), left_until=until)
    return Wait(replace(left, waits_from=case.waits_from or world.now), until)


def _until(case: CaseRecord, plan: Plan, choice: StepChoice, world: World) -> tuple[float, str]:
    if _is_held_out(case, plan, choice, world):
        window = settle_of(case.rule_id, choice.action, world) + patience_of(case.rule_id, world)
        return case.opened_at + window, "held out: left alone"
    if world.rules[case.rule_id].get("wait") == LEARNED and plan.would == "execute":
        return case.opened_at + world.learned_wait(case.rule_id), "waiting, as learned,"
    return 0.0, ""


def _is_held_out(case: CaseRecord, plan: Plan, choice: StepChoice, world: World) -> bool:
    holdout, rule, trust = world.settings.holdout, world.rules[case.rule_id], world.trust[case.rule_id]
    own = (rule.get("holdout") or {}).get("share")
    share = holdout.share if own is None else own
    if not share or rank_of_risk(choice.action.risk) > rank_of_risk(holdout.risk):
        return False
    if plan.would == "execute":
        return world.coin(case.id) < share
    asks = plan.would == "request_approval" and choice.action.risk == "low"
    return asks and trust.control.n < FEW_CONTROLS and world.coin(case.id) < 1 / FEW_CONTROLS
