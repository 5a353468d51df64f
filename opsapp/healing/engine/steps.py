"""A case takes a step: the stages say what follows, and it is applied, in one transaction.

What follows has to be in the table of moves (`stages.moves`), else the transaction fails and the pipeline ends the
case. Nothing here decides, waits or talks to anybody.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from opsapp.healing.resources import RecentHeal
from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import execution, ledger, looking, moves
from opsapp.healing.stages.case import (
    About,
    ActingCase,
    AwaitingCase,
    CaseRecord,
    ClosedCase,
    CommandedCase,
    CorrelatingCase,
    Heal,
    PendingLook,
    PlanningCase,
    RollingBackCase,
    SnapshotCase,
    VerifyingCase,
)
from opsapp.healing.stages.messages import RollbackWanted
from opsapp.healing.stages.moves import (
    AskApproval,
    AskCause,
    BeginHeal,
    EndCase,
    FinishLate,
    JoinDeed,
    Measure,
    Next,
    NextStep,
    PlanNow,
    Recall,
    SendCommand,
    Wait,
)
from opsapp.healing.stages.stepping import Facts, following
from opsapp.healing.stages.timing import POLL_S
from opsapp.healing.stages.turns import Neighbours
from opsapp.healing.stages.world import SERVER
from opsapp.lib.problems import Conflict, Invalid, NotFound

from . import approvals, commands, edges, entries, harms, notifications, trials, waves
from .context import PipelineContext


def advance(context: PipelineContext, case: Case) -> None:
    """Carry the case on as long as it happens in the same transaction."""
    carry_on(context, case, following_now(context, case.record))


def carry_on(context: PipelineContext, case: Case, then: Next | None) -> None:
    while then is not None:
        then = apply(context, case, then)


def following_now(context: PipelineContext, record: CaseRecord) -> Next:
    facts = _facts(context, record)
    if isinstance(record, ActingCase) and facts.answer is not None:
        record = replace(record, said=commands.said(context.root, record, facts.answer))
    return following(record, context.world, facts)


def _facts(context: PipelineContext, record: CaseRecord) -> Facts:
    facts = Facts(context.token)
    if isinstance(record, CommandedCase):
        return facts._replace(answer=commands.answer(context.root, record))
    if isinstance(record, VerifyingCase):
        return facts._replace(around=harms.around(context, record))
    if isinstance(record, PlanningCase | AwaitingCase):
        near = Neighbours(context.book.others_act(record), context.book.holder)
        facts = facts._replace(near=near, wave=waves.turn_of(context, record))
    if isinstance(record, PlanningCase):
        facts = facts._replace(look=commands.cause_told(context.root, record))
    if isinstance(record, AwaitingCase):
        request = approvals.request_now(context, record)
        return facts._replace(request=request, hashed=approvals.hashed(record, context.world, context.root))
    return facts


def apply(context: PipelineContext, case: Case, then: Next) -> Next | None:
    """Write what the stages have decided; what follows at once."""
    before = case.record
    if isinstance(then, Recall):
        assert isinstance(before, CommandedCase)
        recalled = context.fleet.recall(context.root, before.heal.host, before.command_id)
        then = then.end if recalled else then.wait
    moves.check(before.place, then)
    waits_on = isinstance(then, Wait) and then.case.place == before.place
    if isinstance(before, CommandedCase) and not waits_on:  # it waits for that answer no longer
        context.book.acting.discard(before.id)
        commands.taken(context.healing, before)
    if before.look is not None and not (waits_on and then.case.look):
        context.book.acting.discard(before.id)
    if isinstance(before, CorrelatingCase):
        context.book.hold_back(then.case)
    return _apply(then, context, case)


@singledispatch
def _apply(then: Next, context: PipelineContext, case: Case) -> Next | None:
    raise TypeError(f"what a stage may answer: not {then!r}")


@_apply.register
def _wait(then: Wait, context: PipelineContext, case: Case) -> None:
    _learn(context, then.case, then.entry)
    context.measure_above(then.ask)
    trials.toss(context, case.record, then.case)
    context.book.keep(case, then.case, then.due)


@_apply.register
def _measure(then: Measure, context: PipelineContext, case: Case) -> None:
    _learn(context, then.case, then.entry)
    record = commands.measure(context, then.case, then.heal_id, then.patience)
    context.book.keep(case, record, then.due)


@_apply.register
def _look(then: AskCause, context: PipelineContext, case: Case) -> Next | None:
    """A look that cannot be asked for leaves the cause unknown."""
    try:
        command_id = commands.ask_for_cause(context, then)
    except (NotFound, Invalid, Conflict) as refusal:
        case.record = looking.not_asked(then.case, str(refusal))
        return following_now(context, case.record)
    context.book.acting.insert(then.case.id)
    asked = replace(then.case, look=PendingLook(then.host, command_id, then.due))
    context.book.keep(case, asked, min(then.due, context.now + POLL_S))
    return None


@_apply.register
def _plan_now(then: PlanNow, context: PipelineContext, case: Case) -> Next:
    case.record = then.case
    return following_now(context, case.record)


@_apply.register
def _join_deed(then: JoinDeed, context: PipelineContext, case: Case) -> None:
    waves.join(context, case, then.case, then.due, ready=then.ready)


@_apply.register
def _ask_approval(then: AskApproval, context: PipelineContext, case: Case) -> None:
    ask_together(context, [(case, then)])


def ask_together(context: PipelineContext, asked: list[tuple[Case, AskApproval]]) -> None:
    wanted = [(intent(context, then), then.plan) for _, then in asked]
    approval, records = approvals.ask(context, wanted), [record for record, _ in wanted]
    if approval.status == "pending":
        notifications.asked(context, records, notifications.Wish.of(asked[0][1].plan, len(asked)), approval.__name__)
    for record, (case, then) in zip(records, asked, strict=True):
        answer = approvals.answer_to(approval, record.id)
        await_request(context, case, then._replace(case=record), approval.__name__, answer)
    if approval.status == "approved":  # by the yes to the proposal that it carries out
        context.book.arrived(context.root, approval.__name__, context.now)


def intent(context: PipelineContext, then: AskApproval) -> AwaitingCase:
    """Return the case as it awaits approval, with the entry of what people are asked about."""
    state = "awaiting_approval"
    entry_id = entries.begin_entry(context, then.case, then.plan, state=state, outcome=state)
    return replace(then.case, entry_id=entry_id)


def await_request(context: PipelineContext, case: Case, then: AskApproval, name: str, answer: str) -> None:
    record = then.case
    context.ledger.update(context.root, record.entry_id, approval_id=name)
    entries.release_others(context, record)
    alone = {record.rule_id: record.events[record.rule_id]}
    waits = replace(record, approval_id=name, events=alone).saying(f"approval {name} requested")
    context.book.waiting_for[answer] = waits.id
    context.book.keep(case, waits, then.due)


@_apply.register
def _begin(then: BeginHeal, context: PipelineContext, case: Case) -> Next | None:
    record = then.case
    if then.tells and record.wave <= 1:
        notifications.acts(context, record, then.plan)
    if record.entry_id is None:
        entry_id = entries.begin_entry(context, record, then.plan, state="executing")
    else:
        entry_id = record.entry_id
        context.ledger.update(context.root, entry_id, state="executing", outcome=None, reason="")
    trials.toss(context, case.record, record)
    trials.acts(context, record)
    edges.acts(context, record.target)
    waves.begins(context, record)
    context.book.line[record.heal.host] = record.id
    site = context.world.graph.site(record.target)
    counts = context.healing.go_on if record.counted else context.healing.begin
    counts(context.now, RecentHeal(context.now, record.rule_id, site, record.target))
    if record.heal.host == SERVER:
        context.ledger.update(context.root, entry_id, executed=True)
    else:
        context.ledger.update(context.root, entry_id, snapshot_id=record.heal.heal_id)
    return _send(context, case, replace(record, entry_id=entry_id, counted=True))


@_apply.register
def _send_command(then: SendCommand, context: PipelineContext, case: Case) -> Next | None:
    record = then.case
    _learn(context, record, then.entry)
    if isinstance(record, ActingCase) and record.heal.snapshot is not None:
        context.healing.snapshots[record.entry_id] = {
            "snapshot": record.heal.snapshot,
            "agent_id": record.heal.host,
            "heal_id": record.heal.heal_id,
        }
    return _send(context, case, record, then.arm_s)


def _send(context: PipelineContext, case: Case, record: CommandedCase, arm_s: float | None = None) -> Next | None:
    """Send the command with the lease's token, or return what follows when that is refused."""
    case.record = record
    if isinstance(record, ActingCase):
        harms.note_before(context, record)
    try:
        command_id = commands.ask(context, record, arm_s)
    except (NotFound, Invalid, Conflict) as refusal:  # before anything was written
        return execution.refused(record, str(refusal), context.world)
    line = f"{record.phase} of {record.heal.action} sent to {record.heal.host}: command {command_id}"
    context.book.acting.insert(record.id)
    sent = replace(record, command_id=command_id, sent_at=context.now).saying(line)
    context.book.keep(case, sent, context.now + POLL_S)
    return None


@_apply.register
def _next_step(then: NextStep, context: PipelineContext, case: Case) -> Next:
    case.record = entries.next_step(context, then)
    return following_now(context, case.record)


@_apply.register
def _end_case(then: EndCase, context: PipelineContext, case: Case) -> None:
    record = then.case
    if isinstance(record, AwaitingCase):
        approvals.withdraw(context, record, then.reason)
    if isinstance(record, SnapshotCase | ActingCase) and then.entry == {"executed": False}:
        context.healing.snapshots.pop(record.entry_id, None)
    if then.notifies and record.told_reason == then.reason:
        then = then._replace(case=record.saying("people were told of this outage before: no further message"))
    elif then.notifies:
        notifications.notified(context, record, then.reason)
    if then.plan is not None and then.plan.brake is not None:
        notifications.braked(context, then.plan.brake)
    entries.end_case(context, case, then)


@_apply.register
def _finish_late(then: FinishLate, context: PipelineContext, case: Case) -> None:
    closed = then.case
    assert isinstance(closed, ClosedCase)
    for entry_id in closed.late.values():
        context.ledger.finish(context.root, entry_id, outcome="absorbed", reason=then.reason, now=context.now)
    context.book.rest(case, replace(closed, late={}))


def _learn(context: PipelineContext, record: CaseRecord, entry: moves.EntryFields | None) -> None:
    if entry is not None:
        context.ledger.update(context.root, record.entry_id, **entry)


def begin_manual_rollback(context: PipelineContext, wanted: RollbackWanted) -> None:
    """A case of its own, with an entry that names the other."""
    entry, kept = context.ledger.record(wanted.ledger_id), context.healing.snapshots.get(wanted.ledger_id)
    if entry is None or kept is None or not context.ledger.can_roll_back(entry):
        context.healing.answers[wanted.request] = None
        return
    about = About("manual", entry.condition, entry.target, agent_id=kept["agent_id"])
    heal = Heal(kept["agent_id"], entry.action_type, kept["heal_id"], context.now, snapshot=kept["snapshot"])
    undoing = RollingBackCase(
        about=about, rule_id=entry.rule_id, events={}, abouts={}, opened_at=context.now, heal=heal, manual=True
    )
    moves.check(moves.NEW, SendCommand(undoing))
    case = context.book.open(undoing, context.now)
    record = context.ledger.begin(
        context.root,
        case.record,
        rule_id=entry.rule_id,
        now=context.now,
        action_type="rollback",
        rolls_back=entry.id,
        action_params=ledger.params_text({"ledger_id": entry.id, "action_type": entry.action_type}),
        escalation_step=entry.escalation_step,
        state="executing",
        snapshot_id=kept["heal_id"],
        risk=entry.risk,
        subject=entry.subject,
    )
    context.healing.answers[wanted.request] = record.id
    opened = case.record
    assert isinstance(opened, RollingBackCase)
    carry_on(context, case, _send(context, case, replace(opened, entry_id=record.id)))
