"""Leaves cases alone for a while, because a coin says so, or because waiting costs the least downtime. The coin is
drawn from the case's id with the store's key, when everything else says that it acts now, and committed before the
window begins. What does not recover is healed after its window."""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.config import TrialSettings
from opsapp.healing.logic.levels import rank_of_risk

from .case import AwaitingCase, BeforeAct, CaseRecord, PlanningCase
from .moves import Wait
from .planning import Plan, StepChoice
from .timing import trial_window
from .trust import Trust
from .world import World

LEARNED = "learned"
LEFT = ", to learn whether the heal is needed: if it does not recover, it is healed then"
NO_KEY = "no trial: this node cannot open the store's key, and what is drawn without it can be foreseen"
CONTROL, TREATED = "control", "treated"


def waits(case: BeforeAct, world: World) -> Wait | None:
    if case.left_until is None or world.now >= case.left_until:
        return None
    return Wait(case, case.left_until)


def is_left_alone(case: CaseRecord, now: float) -> bool:
    return isinstance(case, PlanningCase | AwaitingCase) and case.left_until is not None and case.left_until > now


def urged(case: CaseRecord, by: str, now: float) -> CaseRecord:
    """It acts once its condition was measured again."""
    return replace(case.saying(f"{by} did not want to wait any longer"), left_until=now, urged_at=now)


def put_off(case: PlanningCase, plan: Plan, world: World) -> Wait | None:
    """Where that costs the least downtime."""
    if case.left_until is not None:
        return waits(case, world)
    if plan.choice is None or plan.would != "execute" or world.rules[case.rule_id].wait != LEARNED:
        return None
    if case.step or case.tried or not _is_of_an_alert(case):
        return None
    until = case.opened_at + world.learned_wait(case.rule_id)
    return _left(case, until, "waiting, as learned,", world) if until > world.now else None


def toss(case: BeforeAct, choice: StepChoice, world: World) -> tuple[BeforeAct, Wait | None]:
    """It acts now, unless the coin forbids it."""
    if case.arm is not None or case.urged_at is not None or case.step or case.tried or not _is_of_an_alert(case):
        return case, None
    if case.wave > 1 or case.compared:  # it has waited for the same already, or its wave is the trial
        return case, None
    trials = share_of(case.rule_id, world)
    if not trials.share or rank_of_risk(choice.action.risk) > rank_of_risk(trials.risk):
        return case, None
    arm, share = world.arm_of_outage(case.rule_id, case.target, case.opened_at), None
    if arm is None:
        drawn = world.coin(case.id)
        if drawn is None:
            return case.saying(NO_KEY), None
        arm, share = CONTROL if drawn < trials.share else TREATED, trials.share
    case = replace(case, arm=arm, share=share)
    if arm == TREATED:
        return case, None
    until = world.now + trial_window(case.rule_id, choice.action, world)
    return case, _left(case, until, "left alone", world, LEFT)


def share_of(rule_id: str, world: World) -> TrialSettings:
    """0 in either setting, or in the rule, is none at all."""
    trial, holdout, trust = world.settings.trial, world.settings.holdout, world.trust[rule_id]
    own = world.rules[rule_id].holdout
    usual = trial if is_learned_about(trust) else holdout
    share = usual.share if own is None else own.share
    return replace(usual, share=share if trial.share and holdout.share else 0.0)


def is_learned_about(trust: Trust) -> bool:
    return trust.current_level != "execute" and trust.trials.verdict == "unknown"


def _is_of_an_alert(case: BeforeAct) -> bool:
    return case.about.source == "alert" and bool(case.about.subject)


def _left(case: BeforeAct, until: float, why: str, world: World, reason: str = "") -> Wait:
    """A look from before the wait says nothing after it. After people's yes the entry says why it waits."""
    line = f"{why} for {until - world.now:.0f} s{reason}"
    left = replace(case.saying(line), left_until=until, waits_from=case.waits_from or world.now, looks_from=None)
    return Wait(left, until, entry=None if case.entry_id is None else {"reason": line})
