"""Stages 3 and 4 at work: snapshot, action, settle, measure, verify, roll back; one small step per transaction.

`phase` says which command's answer an executing case waits for. Every command is at most once: its record is committed
with the step that wants it, and a restart finds the case waiting for the same command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opsapp.healing.logic.rules import steps
from opsapp.healing.resources.cases import Case, case_of
from opsapp.healing.stages import execution, ledger, verification
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.world import SERVER
from opsapp.lib.durations import seconds
from opsapp.lib.problems import Conflict, Invalid, NotFound
from opsapp.wire.actions import ACTIONS, Action

from . import asking, ground, turns

if TYPE_CHECKING:
    from .flow import Flow

POLL_S = 0.5  # how often an unanswered command is looked at, beside the wake-up by its result
LOOK = "look"  # what a heal id ends with where nothing is healed, only looked at
ASK_AGAIN_S = 10.0  # a measurement that was asked for and does not come is asked for again
VERIFY_TIMEOUT_S = 60.0
UNHEARD = ("lost", "expired", "cancelled")


def begin(flow: Flow, case: Case, plan: Plan, entry_id: int) -> None:
    """The intent is written: ask the host for a snapshot."""
    assert plan.choice is not None
    assert plan.host is not None
    choice, site = plan.choice, flow.world.graph.site(case.fields["target"])
    case.set(
        state="executing",
        host=plan.host.agent_id,
        action=choice.action.name,
        params=choice.params,
        began_at=flow.now,
        heal_id=f"{case.fields['id']}.{choice.step.position}",
        definition=flow.world.trust[case.fields["rule_id"]].definition,
        snapshot=None,
    )
    turns.take(flow, case, plan.host.agent_id)
    flow.healing.begin(flow.now, at=flow.now, rule_id=case.fields["rule_id"], site=site, target=case.fields["target"])
    if plan.host.agent_id == SERVER:  # nothing there can be looked at beforehand
        flow.ledger.update(flow.root, entry_id, executed=True)
        _command(flow, case, "execute", params=choice.params)
        return
    flow.ledger.update(flow.root, entry_id, snapshot_id=case.fields["heal_id"])
    _command(flow, case, "snapshot", params=choice.params)


def advance(flow: Flow, case: Case) -> None:
    state = case.fields["state"]
    if state == "settling":
        _measure(flow, case)
    elif state == "verifying" and case.fields["phase"] != "confirm":
        _verify(flow, case)
    else:
        _look_at_answer(flow, case)


def _command(flow: Flow, case: Case, phase: str, **params: Any) -> None:
    """Queue one phase of the heal on the host, with the lease's token."""
    fields = case.fields
    try:
        command_id = asking.ask(flow, fields, phase, params)
    except (NotFound, Invalid, Conflict) as refusal:  # before anything was written
        said = f"{phase} not possible: {refusal}"
        if fields.get("manual"):  # nothing follows what a person asked for
            flow.finish_step(case, "failed", said)
            return
        known = fields.get("verdict") if phase == "rollback" else None
        _end_step(flow, case, known or "failed", said)
        return
    case.set(phase=phase, command_id=command_id, sent_at=flow.now)
    case.why(f"{phase} of {fields['action']} sent to {fields['host']}: command {command_id}")
    flow.book.acting.insert(fields["id"])
    flow.book.schedule(case, flow.now + POLL_S)


def _look_at_answer(flow: Flow, case: Case) -> None:
    fields = case.fields
    answer = asking.answer(flow.root, flow.reach, fields) or asking.overdue(flow, fields)
    if answer is None:
        if not ground.recall(flow, case):
            flow.book.schedule(case, flow.now + POLL_S)
        return
    asking.read(flow.healing, fields)
    flow.book.acting.remove(fields["id"])
    if fields["phase"] == "snapshot":
        _after_snapshot(flow, case, answer)
    elif fields["phase"] == "execute":
        _after_action(flow, case, answer)
    elif fields["phase"] == "confirm":
        _after_confirmation(flow, case, answer)
    else:
        _after_rollback(flow, case, answer)


def _after_snapshot(flow: Flow, case: Case, answer: dict[str, Any]) -> None:
    action = _action(case)
    following, snapshot = execution.after_snapshot(answer, action)
    if following.reason:
        case.why(following.reason)
    if following.kind == "end":
        _end_step(flow, case, following.outcome or "failed", following.reason)
        return
    lost = ground.act_lost(flow, case)
    if lost is not None:  # since the snapshot was asked for; nothing has been done yet
        ground.end(flow, case, lost)
        return
    case.set(snapshot=snapshot)
    if snapshot is not None:
        flow.healing.snapshots[case.fields["entry_id"]] = {
            "snapshot": snapshot,
            "agent_id": case.fields["host"],
            "heal_id": case.fields["heal_id"],
        }
    flow.ledger.update(flow.root, case.fields["entry_id"], executed=True)
    # What can cut the host off is undone by its agent, unless it is told in time that it was verified: after settling,
    # verifying, and as long as a confirmation may take to reach a host that only polls.
    confirmed = flow.world.settings["confirm_s"]
    arm = {"arm_s": settle_of(flow, case) + patience_of(flow, case) + confirmed} if action.armed_s else {}
    _command(flow, case, "execute", params=case.fields["params"], **arm)


def _after_action(flow: Flow, case: Case, answer: dict[str, Any]) -> None:
    following = execution.after_action(answer)
    if following.kind == "end":
        _action_ended(flow, case, answer, following)
        return
    flow.ledger.update(flow.root, case.fields["entry_id"], state="settling", action_success=1)
    armed = bool((answer.get("data") or {}).get("armed_s"))
    case.set(state="settling", phase=None, command_id=None, armed=armed, acted_at=flow.now)
    flow.book.schedule(case, flow.now + settle_of(flow, case))


def _action_ended(flow: Flow, case: Case, answer: dict[str, Any], following: execution.Next) -> None:
    """The action failed, or nobody can tell. One that could cut its host off is undone there in both cases."""
    outcome, undone = following.outcome or "failed", (answer.get("data") or {}).get("undone")
    if outcome == "lost" and _action(case).armed_s and case.fields["snapshot"] is not None:
        _take_back(flow, case, "lost", following.reason)
    elif undone is None:
        _end_step(flow, case, outcome, following.reason, executed=execution.was_tried(answer))
    elif undone:
        _end_step(flow, case, "rolled_back", f"{following.reason}; undone", rollback_status="rolled_back")
    else:
        _end_step(flow, case, outcome, f"{following.reason}; not undone yet", rollback_status="failed")


def _measure(flow: Flow, case: Case) -> None:
    """Settled: have the right thing measured afresh."""
    patience = patience_of(flow, case)
    flow.ledger.update(flow.root, case.fields["entry_id"], state="verifying")
    case.set(state="verifying", settled_at=flow.now, deadline=flow.now + patience)
    _ask_for_measurement(flow, case, patience)


def patience_of(flow: Flow, case: Case) -> float:
    rule = flow.world.rules.get(case.fields["rule_id"], {})
    return seconds(rule.get("verify_timeout_s") or VERIFY_TIMEOUT_S)


def _ask_for_measurement(flow: Flow, case: Case, patience: float) -> None:
    case.set(asked_at=flow.now, asked_under=flow.token)
    _measure_subject(flow, case, case.fields["heal_id"], patience)
    flow.book.schedule(case, flow.now + POLL_S)


def ask_for_look(flow: Flow, case: Case) -> None:
    """Have the ground of a case that has waited measured afresh."""
    case.set(looks_from=flow.now)
    _measure_subject(flow, case, f"{case.fields['id']}.{LOOK}", patience_of(flow, case))


def _measure_subject(flow: Flow, case: Case, heal_id: str, patience: float) -> None:
    subject = case.fields["subject"] or ""
    if subject.startswith("monitor:"):
        flow.rechecks.append(subject)
    elif subject:
        measure = {"heal_id": heal_id, "token": flow.token, "phase": "measure"}
        agent_id, expiry = subject.partition(":")[2], max(patience, 1.0)
        try:
            flow.reach.send(flow.root, agent_id, "heal", measure, timeout=60, expiry=expiry, by="healing")
        except NotFound:
            case.why("nothing can be measured: the agent is gone")


def _verify(flow: Flow, case: Case) -> None:
    if case.fields["asked_under"] != flow.token:  # asked by a process that is gone: nobody was there to hear the answer
        patience = patience_of(flow, case)
        case.set(deadline=flow.now + patience)
        _ask_for_measurement(flow, case, patience)
        return
    fields = case.fields
    reading = flow.world.reading(fields)
    found = verification.verify(reading, settled_at=fields["settled_at"], deadline=fields["deadline"], now=flow.now)
    if found.outcome is None:
        if flow.now - fields["asked_at"] >= ASK_AGAIN_S:
            _ask_for_measurement(flow, case, fields["deadline"] - flow.now)
        flow.book.schedule(case, flow.now + POLL_S)
        return
    flow.ledger.update(flow.root, fields["entry_id"], metrics_after=reading.metrics)
    then = verification.afterwards(found.outcome, _action(case), fields["snapshot"])
    if then == "rollback":
        _take_back(flow, case, found.outcome, found.reason)
    elif found.outcome == "verified" and fields.get("armed"):
        case.why("verified; confirming what the agent would undo")
        _command(flow, case, "confirm", params=fields["params"])
    else:
        _end_step(flow, case, found.outcome, found.reason)


def _take_back(flow: Flow, case: Case, verdict: str, reason: str) -> None:
    """Back to the snapshot. `verdict` is what is known of the action by then: failed, inconclusive or lost."""
    fields = case.fields
    case.set(state="executing", verdict=verdict, doubt=reason)
    case.why(f"{verdict}, {reason}; rolling back")
    _command(flow, case, "rollback", params=fields["params"], snapshot=fields["snapshot"])


def _after_confirmation(flow: Flow, case: Case, answer: dict[str, Any]) -> None:
    """What is not confirmed, the agent undoes: then it is not healed, whatever was measured."""
    data = answer.get("data") or {}
    if answer["status"] == "done" and data.get("kept", True):
        _end_step(flow, case, "verified", "the condition is known false, and confirmed")
        return
    if answer["status"] in UNHEARD and not case.fields.get("asked_twice"):
        case.set(asked_twice=True)  # the agent knows which of the two it was, whoever was killed in between
        _command(flow, case, "confirm", params=case.fields["params"])
        return
    said = answer.get("reason") or answer["status"]
    undone = data.get("kept") is False
    outcome, status = ("rolled_back", "rolled_back") if undone else ("inconclusive", None)
    _end_step(flow, case, outcome, f"not confirmed: {said}", rollback_status=status)


def _after_rollback(flow: Flow, case: Case, answer: dict[str, Any]) -> None:
    """The host has looked at what it restored. A rollback that failed is said, and the step stays a failure."""
    restored = answer["status"] == "done" and bool((answer.get("data") or {}).get("restored"))
    if case.fields.get("manual"):
        reason = "restored" if restored else f"not restored: {answer.get('reason') or answer['status']}"
        flow.finish_step(case, "rolled_back" if restored else "failed", reason, action_success=int(restored))
        return
    verdict = case.fields.get("verdict") or "failed"  # a case that an older version left here had failed
    known = {} if verdict == "failed" else {"verdict": verdict}
    before = "verification failed" if verdict == "failed" else str(case.fields["doubt"])
    if restored:
        _end_step(flow, case, "rolled_back", f"{before}; restored", rollback_status="rolled_back", **known)
    else:
        said = answer.get("reason") or answer["status"]
        _end_step(flow, case, verdict, f"{before}; rollback failed: {said}", rollback_status="failed")


def _end_step(flow: Flow, case: Case, outcome: str, reason: str, **fields: Any) -> None:
    """A step's end. What did not resolve it escalates to the next step; what nobody can tell about is left alone."""
    duration = round(flow.now - case.fields["began_at"], 3)
    chain = steps(flow.world.rules.get(case.fields["rule_id"], {}))
    following = case.fields["step"] + 1
    on = outcome not in ("verified", "lost") and following < len(chain)
    flow.finish_step(case, outcome, reason, on=on, duration_s=duration, **fields)
    if on:
        case.set(
            armed=False, state="planning", step=following, phase=None, command_id=None, snapshot=None, verdict=None,
            asked_twice=False,
        )  # fmt: skip
        flow.plan(case)


def _action(case: Case) -> Action:
    return ACTIONS[case.fields["action"]]


def settle_of(flow: Flow, case: Case) -> float:
    return settle_for(flow, case, _action(case))


def settle_for(flow: Flow, case: Case, action: Action) -> float:
    """The rule's, or the action's own. Not less than the action needs: a host that is about to reboot still looks as it
    did."""
    wanted = flow.world.rules.get(case.fields["rule_id"], {}).get("settle_s")
    return action.settle if wanted is None else max(action.least_settle, seconds(wanted))


def begin_manual_rollback(flow: Flow, event: dict[str, Any]) -> None:
    """An admin wants an entry undone: a case of its own, with an entry of its own that names the other."""
    entry, kept = flow.ledger.record(event["ledger_id"]), flow.healing.snapshots.get(event["ledger_id"])
    if entry is None or kept is None or not flow.ledger.can_roll_back(entry["id"]):
        flow.healing.answers[event["request"]] = None
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
            "at": flow.now,
        }
    )
    case = flow.book.open({**fields, "events": {}, "abouts": {}, "manual": True}, flow.now)
    record = flow.ledger.begin(
        flow.root,
        case.plain(),
        rule_id=entry["rule_id"],
        now=flow.now,
        action_type="rollback",
        rolls_back=entry["id"],
        action_params=ledger.params_text({"ledger_id": entry["id"], "action_type": entry["action_type"]}),
        escalation_step=entry["escalation_step"],
        state="executing",
        snapshot_id=kept["heal_id"],
        risk=entry["risk"],
    )
    flow.healing.answers[event["request"]] = record["id"]
    case.set(
        state="executing",
        entry_id=record["id"],
        host=kept["agent_id"],
        action=entry["action_type"],
        heal_id=kept["heal_id"],
        began_at=flow.now,
    )
    _command(flow, case, "rollback", params={}, snapshot=kept["snapshot"])
