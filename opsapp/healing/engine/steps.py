"""Stages 3 and 4 at work: snapshot, action, settle, measure, verify, roll back; one small step per transaction.

`phase` says which command's answer an executing case waits for. Every command is at most once: its record is committed
with the step that wants it, and a restart finds the case waiting for the same command.
"""

from __future__ import annotations

from typing import Any

from opsapp.healing.logic.rules import steps
from opsapp.healing.resources.cases import Case, case_of
from opsapp.healing.stages import execution, ledger, verification
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.world import SERVER
from opsapp.lib.problems import Conflict, Invalid, NotFound
from opsapp.wire.actions import ACTIONS, Action

from . import commands, entries, guards, line, measuring
from .context import PipelineContext

POLL_S = 0.5  # how often an unanswered command is looked at, beside the wake-up by its result
ASK_AGAIN_S = 10.0  # a measurement that was asked for and does not come is asked for again
UNHEARD = ("lost", "expired", "cancelled")


def begin(context: PipelineContext, case: Case, plan: Plan, entry_id: int) -> None:
    """The intent is written: ask the host for a snapshot."""
    assert plan.choice is not None
    assert plan.host is not None
    choice, site = plan.choice, context.world.graph.site(case.fields["target"])
    case.set(
        state="executing",
        host=plan.host.agent_id,
        action=choice.action.name,
        params=choice.params,
        began_at=context.now,
        heal_id=f"{case.fields['id']}.{choice.step.position}",
        definition=context.world.trust[case.fields["rule_id"]].definition,
        snapshot=None,
    )
    line.take(context, case, plan.host.agent_id)
    context.healing.begin(
        context.now, at=context.now, rule_id=case.fields["rule_id"], site=site, target=case.fields["target"]
    )
    if plan.host.agent_id == SERVER:  # nothing there can be looked at beforehand
        context.ledger.update(context.root, entry_id, executed=True)
        _command(context, case, "execute", params=choice.params)
        return
    context.ledger.update(context.root, entry_id, snapshot_id=case.fields["heal_id"])
    _command(context, case, "snapshot", params=choice.params)


def advance(context: PipelineContext, case: Case) -> None:
    state = case.fields["state"]
    if state == "settling":
        _measure(context, case)
    elif state == "verifying" and case.fields["phase"] != "confirm":
        _verify(context, case)
    else:
        _look_at_answer(context, case)


def _command(context: PipelineContext, case: Case, phase: str, **params: Any) -> None:
    """Queue one phase of the heal on the host, with the lease's token."""
    fields = case.fields
    try:
        command_id = commands.ask(context, fields, phase, params)
    except (NotFound, Invalid, Conflict) as refusal:  # before anything was written
        said = f"{phase} not possible: {refusal}"
        if fields.get("manual"):  # nothing follows what a person asked for
            entries.finish_step(context, case, "failed", said)
            return
        known = fields.get("verdict") if phase == "rollback" else None
        _end_step(context, case, known or "failed", said)
        return
    case.set(phase=phase, command_id=command_id, sent_at=context.now)
    case.why(f"{phase} of {fields['action']} sent to {fields['host']}: command {command_id}")
    context.book.acting.insert(fields["id"])
    context.book.schedule(case, context.now + POLL_S)


def _look_at_answer(context: PipelineContext, case: Case) -> None:
    fields = case.fields
    answer = commands.answer(context.root, context.fleet, fields) or commands.overdue(context, fields)
    if answer is None:
        if not guards.recall(context, case):
            context.book.schedule(case, context.now + POLL_S)
        return
    commands.read(context.healing, fields)
    context.book.acting.remove(fields["id"])
    if fields["phase"] == "snapshot":
        _after_snapshot(context, case, answer)
    elif fields["phase"] == "execute":
        _after_action(context, case, answer)
    elif fields["phase"] == "confirm":
        _after_confirmation(context, case, answer)
    else:
        _after_rollback(context, case, answer)


def _after_snapshot(context: PipelineContext, case: Case, answer: dict[str, Any]) -> None:
    action = _action(case)
    following, snapshot = execution.after_snapshot(answer, action)
    if following.reason:
        case.why(following.reason)
    if following.kind == "end":
        _end_step(context, case, following.outcome or "failed", following.reason)
        return
    lost = guards.act_lost(context, case)
    if lost is not None:  # since the snapshot was asked for; nothing has been done yet
        guards.end(context, case, lost)
        return
    case.set(snapshot=snapshot)
    if snapshot is not None:
        context.healing.snapshots[case.fields["entry_id"]] = {
            "snapshot": snapshot,
            "agent_id": case.fields["host"],
            "heal_id": case.fields["heal_id"],
        }
    context.ledger.update(context.root, case.fields["entry_id"], executed=True)
    # What can cut the host off is undone by its agent, unless it is told in time that it was verified: after settling,
    # verifying, and as long as a confirmation may take to reach a host that only polls.
    confirmed = context.world.settings.confirm_s
    arm = (
        {"arm_s": measuring.settle_of(context, case) + measuring.patience_of(context, case) + confirmed}
        if action.armed_s
        else {}
    )
    _command(context, case, "execute", params=case.fields["params"], **arm)


def _after_action(context: PipelineContext, case: Case, answer: dict[str, Any]) -> None:
    following = execution.after_action(answer)
    if following.kind == "end":
        _action_ended(context, case, answer, following)
        return
    context.ledger.update(context.root, case.fields["entry_id"], state="settling", action_success=1)
    armed = bool((answer.get("data") or {}).get("armed_s"))
    case.set(state="settling", phase=None, command_id=None, armed=armed, acted_at=context.now)
    context.book.schedule(case, context.now + measuring.settle_of(context, case))


def _action_ended(context: PipelineContext, case: Case, answer: dict[str, Any], following: execution.Next) -> None:
    """The action failed, or nobody can tell. One that could cut its host off is undone there in both cases."""
    outcome, undone = following.outcome or "failed", (answer.get("data") or {}).get("undone")
    if outcome == "lost" and _action(case).armed_s and case.fields["snapshot"] is not None:
        _take_back(context, case, "lost", following.reason)
    elif undone is None:
        _end_step(context, case, outcome, following.reason, executed=execution.was_tried(answer))
    elif undone:
        _end_step(context, case, "rolled_back", f"{following.reason}; undone", rollback_status="rolled_back")
    else:
        _end_step(context, case, outcome, f"{following.reason}; not undone yet", rollback_status="failed")


def _measure(context: PipelineContext, case: Case) -> None:
    """Settled: have the right thing measured afresh."""
    patience = measuring.patience_of(context, case)
    context.ledger.update(context.root, case.fields["entry_id"], state="verifying")
    case.set(state="verifying", settled_at=context.now, deadline=context.now + patience)
    _ask_for_measurement(context, case, patience)


def _ask_for_measurement(context: PipelineContext, case: Case, patience: float) -> None:
    case.set(asked_at=context.now, asked_under=context.token)
    measuring.measure_subject(context, case, case.fields["heal_id"], patience)
    context.book.schedule(case, context.now + POLL_S)


def _verify(context: PipelineContext, case: Case) -> None:
    if (
        case.fields["asked_under"] != context.token
    ):  # asked by a process that is gone: nobody was there to hear the answer
        patience = measuring.patience_of(context, case)
        case.set(deadline=context.now + patience)
        _ask_for_measurement(context, case, patience)
        return
    fields = case.fields
    reading = context.world.reading(fields)
    found = verification.verify(reading, settled_at=fields["settled_at"], deadline=fields["deadline"], now=context.now)
    if found.outcome is None:
        if context.now - fields["asked_at"] >= ASK_AGAIN_S:
            _ask_for_measurement(context, case, fields["deadline"] - context.now)
        context.book.schedule(case, context.now + POLL_S)
        return
    context.ledger.update(context.root, fields["entry_id"], metrics_after=reading.metrics)
    then = verification.afterwards(found.outcome, _action(case), fields["snapshot"])
    if then == "rollback":
        _take_back(context, case, found.outcome, found.reason)
    elif found.outcome == "verified" and fields.get("armed"):
        case.why("verified; confirming what the agent would undo")
        _command(context, case, "confirm", params=fields["params"])
    else:
        _end_step(context, case, found.outcome, found.reason)


def _take_back(context: PipelineContext, case: Case, verdict: str, reason: str) -> None:
    """Back to the snapshot. `verdict` is what is known of the action by then: failed, inconclusive or lost."""
    fields = case.fields
    case.set(state="executing", verdict=verdict, doubt=reason)
    case.why(f"{verdict}, {reason}; rolling back")
    _command(context, case, "rollback", params=fields["params"], snapshot=fields["snapshot"])


def _after_confirmation(context: PipelineContext, case: Case, answer: dict[str, Any]) -> None:
    """What is not confirmed, the agent undoes: then it is not healed, whatever was measured."""
    data = answer.get("data") or {}
    if answer["status"] == "done" and data.get("kept", True):
        _end_step(context, case, "verified", "the condition is known false, and confirmed")
        return
    if answer["status"] in UNHEARD and not case.fields.get("asked_twice"):
        case.set(asked_twice=True)  # the agent knows which of the two it was, whoever was killed in between
        _command(context, case, "confirm", params=case.fields["params"])
        return
    said = answer.get("reason") or answer["status"]
    undone = data.get("kept") is False
    outcome, status = ("rolled_back", "rolled_back") if undone else ("inconclusive", None)
    _end_step(context, case, outcome, f"not confirmed: {said}", rollback_status=status)


def _after_rollback(context: PipelineContext, case: Case, answer: dict[str, Any]) -> None:
    """The host has looked at what it restored. A rollback that failed is said, and the step stays a failure."""
    restored = answer["status"] == "done" and bool((answer.get("data") or {}).get("restored"))
    if case.fields.get("manual"):
        reason = "restored" if restored else f"not restored: {answer.get('reason') or answer['status']}"
        entries.finish_step(
            context, case, "rolled_back" if restored else "failed", reason, action_success=int(restored)
        )
        return
    verdict = case.fields.get("verdict") or "failed"  # a case that an older version left here had failed
    known = {} if verdict == "failed" else {"verdict": verdict}
    before = "verification failed" if verdict == "failed" else str(case.fields["doubt"])
    if restored:
        _end_step(context, case, "rolled_back", f"{before}; restored", rollback_status="rolled_back", **known)
    else:
        said = answer.get("reason") or answer["status"]
        _end_step(context, case, verdict, f"{before}; rollback failed: {said}", rollback_status="failed")


def _end_step(context: PipelineContext, case: Case, outcome: str, reason: str, **fields: Any) -> None:
    """A step's end. What did not resolve it escalates to the next step; what nobody can tell about is left alone."""
    duration = round(context.now - case.fields["began_at"], 3)
    chain = steps(context.world.rules.get(case.fields["rule_id"], {}))
    following = case.fields["step"] + 1
    on = outcome not in ("verified", "lost") and following < len(chain)
    entries.finish_step(context, case, outcome, reason, on=on, duration_s=duration, **fields)
    if on:
        case.set(
            armed=False, state="planning", step=following, phase=None, command_id=None, snapshot=None, verdict=None,
            asked_twice=False,
        )  # fmt: skip


def _action(case: Case) -> Action:
    return ACTIONS[case.fields["action"]]


def begin_manual_rollback(context: PipelineContext, event: dict[str, Any]) -> None:
    """An admin wants an entry undone: a case of its own, with an entry of its own that names the other."""
    entry, kept = context.ledger.record(event["ledger_id"]), context.healing.snapshots.get(event["ledger_id"])
    if entry is None or kept is None or not context.ledger.can_roll_back(entry["id"]):
        context.healing.answers[event["request"]] = None
        return
    fields = case_of(
        {
            "source": "manual",
            "rule_id": entry["rule_id"],
            "condition": entry["condition"],
            "target": entry["target"],
            "severity": "info",
            "metrics": {},
            "agent_id": kept["agent_id"],
            "subject": None,
            "names": (),
            "at": context.now,
        }
    )
    case = context.book.open({**fields, "events": {}, "abouts": {}, "manual": True}, context.now)
    record = context.ledger.begin(
        context.root,
        case.plain(),
        rule_id=entry["rule_id"],
        now=context.now,
        action_type="rollback",
        rolls_back=entry["id"],
        action_params=ledger.params_text({"ledger_id": entry["id"], "action_type": entry["action_type"]}),
        escalation_step=entry["escalation_step"],
        state="executing",
        snapshot_id=kept["heal_id"],
        risk=entry["risk"],
    )
    context.healing.answers[event["request"]] = record["id"]
    case.set(
        state="executing",
        entry_id=record["id"],
        host=kept["agent_id"],
        action=entry["action_type"],
        heal_id=kept["heal_id"],
        began_at=context.now,
    )
    _command(context, case, "rollback", params={}, snapshot=kept["snapshot"])
