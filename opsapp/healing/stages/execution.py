"""Stage 3, execution: what each answer of the host leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from opsapp.wire import causes, heals
from opsapp.wire.actions import ACTIONS, Action
from opsapp.wire.dataclass import frozen
from opsapp.wire.heals import LOST, UNSTARTED, HostAnswer, StepEnd
from opsapp.wire.records import AT_TIMES

from . import guards, looking
from .case import (
    ActingCase,
    AwaitingCase,
    CaseRecord,
    CommandedCase,
    ConfirmingCase,
    Heal,
    PlanningCase,
    RollingBackCase,
    SettlingCase,
    SnapshotCase,
)
from .moves import BeginHeal, EndCase, EntryFields, Next, NextStep, Recall, SendCommand, Wait
from .planning import Plan
from .timing import POLL_S, patience_of, settle_of
from .world import SERVER, World

UNHEARD = (LOST, *UNSTARTED)


def begin(case: PlanningCase | AwaitingCase, plan: Plan, world: World, *, tells: bool = False) -> BeginHeal:
    """Begins a heal with its snapshot; on the service's own machine there is none."""
    choice, host = plan.act
    step, definition = choice.step.position, world.trust[case.rule_id].definition
    heal = Heal(host.agent_id, choice.action.name, f"{case.id}.{step}", world.now, choice.params, definition)
    state = ActingCase if heal.host == SERVER else SnapshotCase
    return BeginHeal(case.becomes(state, heal=heal, step=step, waits_from=None, looks_from=None), plan, tells)


def refused(case: CommandedCase, why: str, world: World) -> Next:
    """The command could not be written. Nothing follows what a person asked for."""
    reason = f"{case.phase} not possible: {why}"
    if case.manual:
        return EndCase(case, "failed", reason)
    verdict = case.verdict if isinstance(case, RollingBackCase) else None
    return end_step(case, verdict or "failed", reason, world)


def waits(case: CommandedCase, world: World) -> Next:
    """What nothing wants any more is taken back, if the host has not been given it."""
    wait = Wait(case, world.now + POLL_S)
    if case.manual or not isinstance(case, SnapshotCase | ActingCase):
        return wait
    lost = guards.act_lost(case, world)
    return wait if lost is None else Recall(case, guards.not_begun(case, lost), wait)


def overdue(case: CommandedCase, world: World) -> HostAnswer | None:
    """Stands in place of an answer that may never come. What the service does itself ends by itself."""
    action = ACTIONS.get(case.heal.action)
    if case.heal.host == SERVER or action is None or case.sent_at is None:
        return None
    wait = action.longest + world.settings.command_expiry_s + world.settings.answer_wait_s
    if world.now - case.sent_at <= wait:
        return None
    return HostAnswer("lost", "no answer of the host: nobody can tell whether it was done")


def answered(case: CommandedCase, answer: HostAnswer, world: World) -> Next:
    if isinstance(case, SnapshotCase):
        return after_snapshot(case, answer, world)
    if isinstance(case, ActingCase):
        return after_action(case, answer, world)
    if isinstance(case, ConfirmingCase):
        return after_confirmation(case, answer, world)
    assert isinstance(case, RollingBackCase)
    return after_rollback(case, answer, world)


def after_snapshot(case: SnapshotCase, answer: HostAnswer, world: World) -> Next:
    """A reversible action does not start without one."""
    action, snapshot = ACTIONS[case.heal.action], answer.snapshot
    if answer.status != "done" or snapshot is None:
        if answer.status in UNSTARTED:
            return end_step(case, "failed", f"host_offline: the snapshot's command is {answer.status}", world)
        if action.reversible:
            return end_step(case, "failed", f"no_snapshot: {answer.said}", world)
        case, snapshot = case.saying(f"snapshot missing: {answer.said}"), None
    lost = guards.act_lost(case, world)  # since the snapshot was asked for; nothing has been done yet
    if lost is not None:
        return guards.not_begun(case, lost)
    acting = case.becomes(ActingCase, heal=case.heal._replace(snapshot=snapshot))
    return SendCommand(acting, arm_s=_armed_for(acting, action, world), entry={"executed": True})


def _armed_for(case: ActingCase, action: Action, world: World) -> float | None:
    """What can cut the host off is undone by its agent, unless a confirmation comes in time, to a host that only polls
    too."""
    if not action.armed_s:
        return None
    settled = settle_of(case.rule_id, action, world) + patience_of(case.rule_id, world)
    return settled + world.settings.confirm_s


def after_action(case: ActingCase, answer: HostAnswer, world: World) -> Next:
    """What it did is for verification. One that could cut its host off is undone when it failed, and when nobody can
    tell."""
    action, end = ACTIONS[case.heal.action], heals.broken(answer)
    if end is None:
        heal = case.heal._replace(armed=answer.armed, acted_at=world.now)
        entry: EntryFields = {"state": "settling", "action_success": 1}
        due = world.now + settle_of(case.rule_id, action, world)
        return Wait(case.becomes(SettlingCase, heal=heal), due, entry=entry)
    if answer.looked:
        case = looking.known(case, causes.read(answer.cause))
    if end.outcome == LOST and action.armed_s and case.heal.snapshot is not None:
        return roll_back(case, end.outcome, end.reason)
    entry = {"executed": answer.was_tried} if answer.undone is None else _rollback_in(end)
    return end_step(case, end.outcome, end.reason, world, entry)


def _rollback_in(end: StepEnd) -> EntryFields:
    entry: EntryFields = {"rollback_status": end.rollback_status}
    if end.verdict is not None:
        entry["verdict"] = end.verdict
    return entry


def roll_back(case: CaseRecord, verdict: str, reason: str, entry: EntryFields | None = None) -> SendCommand:
    """`verdict`: failed, inconclusive or lost."""
    case = case.saying(f"{verdict}, {reason}; rolling back")
    return SendCommand(case.becomes(RollingBackCase, verdict=verdict, doubt=reason), entry=entry)


def after_confirmation(case: ConfirmingCase, answer: HostAnswer, world: World) -> Next:
    """The agent undoes what is not confirmed: then it is not healed, whatever was measured."""
    if answer.status == "done" and answer.kept is not False:
        return end_step(case, "verified", "the condition is known false, and confirmed", world)
    if answer.status in UNHEARD and not case.asked_twice:
        # The agent knows which of the two it was, whoever was killed in between.
        return SendCommand(case.becomes(ConfirmingCase, asked_twice=True))
    undone = answer.kept is False
    outcome, status = ("rolled_back", "rolled_back") if undone else ("inconclusive", None)
    return end_step(case, outcome, f"not confirmed: {answer.said}", world, {"rollback_status": status})


def after_rollback(case: RollingBackCase, answer: HostAnswer, world: World) -> Next:
    if case.manual:
        restored = answer.status == "done" and answer.restored
        reason = "restored" if restored else f"not restored: {answer.said}"
        return EndCase(case, "rolled_back" if restored else "failed", reason, entry={"action_success": int(restored)})
    # What is missing, older versions did not store.
    end = heals.rolled_back(case.verdict or "failed", case.doubt or "verification failed", answer)
    return end_step(case, end.outcome, end.reason, world, _rollback_in(end))


def end_step(
    case: CaseRecord, outcome: str, reason: str, world: World, entry: EntryFields | None = None
) -> NextStep | EndCase:
    began_at = world.now if case.heal is None else case.heal.began_at
    known: EntryFields = {"duration_s": round(world.now - began_at, 3), **(entry or {})}
    if heals.escalates(outcome, case.step + 1 < len(world.steps(case.rule_id))):
        return NextStep(case, outcome, reason, entry=known)
    return EndCase(case, outcome, reason, entry=known)


@frozen
class RollbackPlan:
    """In words for the dry run and the approval."""

    reversible: bool
    how: str
    snapshot: Annotated[bool | None, AT_TIMES] = None


def rollback_plan(action: Action | None, snapshot: Mapping[str, object] | None) -> RollbackPlan:
    if action is None:
        return RollbackPlan(False, "nothing is done")
    if not action.reversible:
        return RollbackPlan(False, f"{action.name} cannot be reversed")
    return RollbackPlan(True, f"restore the {action.rollback} snapshot", snapshot is not None)
