"""Stage 1 in the store: each event becomes a case, joins one, or ends with an entry."""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES
from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import correlation
from opsapp.healing.stages.case import CaseRecord, ClosedCase, RuleEvent, opened
from opsapp.healing.stages.messages import (
    ConditionOver,
    DeedStopped,
    Message,
    RequestDecided,
    RollbackWanted,
    WaitsChanged,
)

from . import entries, notifications, problems, steps, trials, trusted, waves
from .alerts import Past
from .context import PipelineContext
from .world import window_ended


def receive(context: PipelineContext, message: Message) -> None:
    if isinstance(message, RuleEvent):
        _receive_event(context, message)
    elif isinstance(message, RequestDecided):
        context.book.tell_decided(context.root, message.request, context.now)
    elif isinstance(message, DeedStopped):
        waves.tell_stopped(context, message)
    elif isinstance(message, WaitsChanged):
        if message.rule_id is None:
            window_ended(context.root, context.now, message.after)
        else:
            context.book.review(context.root, message.rule_id, context.now, message.after)
    elif isinstance(message, RollbackWanted):
        steps.begin_manual_rollback(context, message)
    else:
        _receive_end(context, message)


def _receive_end(context: PipelineContext, over: ConditionOver) -> None:
    rule_id, target = over.rule_id, over.target
    trials.recovered(context, rule_id, target, over.measured_at or over.at)
    context.book.hasten(target, rule_id, context.now)
    cases = [case.record for case in context.book.open_cases(target)]
    if over.tells and correlation.is_resolved_by_itself(cases, rule_id):
        notifications.over(context, rule_id, over.condition, target)
    else:
        notifications.withdraw_unhealed(context, rule_id, target)


def _receive_event(context: PipelineContext, event: RuleEvent) -> None:
    if event.early and is_suppressed(context, event):
        return  # as its last one was, and its cooldown is not over: no alert yet
    context.book.last_event_at = int(event.at)
    problems.seen(context, event.rule_id, event.about.target)
    received = _correlated(context, event)
    known = context.book.cases[received.case_id].record.events if received.kind == "absorb" else ()
    # Once a case; and a guess is no evidence that the rule sees well.
    if event.about.source not in PREDICTIVE_SOURCES and event.rule_id not in known:
        began = event.at if event.first_at is None else event.first_at
        trusted.count_trigger(context, event.rule_id, began, received.root)
    if received.root is not None:
        trials.held_back(context, event.rule_id, event.about.target, received.root)
    if received.kind == "open":
        held = f"event of rule {event.rule_id}: held until {received.due - context.now:.1f} s from now"
        begun = replace(opened(event), told_reason=_told_before(context, event))
        case = context.book.open(begun.saying(held), received.due)
        trials.begin(context, case.record)
        _remember(context, case.record, event.rule_id)
        context.measure_above(received.ask)
    elif received.kind == "absorb":
        _take_in(context, context.book.cases[received.case_id], event, received.reason)
    else:
        outcome = received.outcome or ""
        entries.end_event(context, opened(event), outcome, received.reason, 1)
        entries.forget(context, event.rule_id, event.about.target, outcome, received.reason)


def _told_before(context: PipelineContext, event: RuleEvent) -> str:
    """Why nothing was done, if people were told that of the same outage when it fired last."""
    past = context.book.last_of.get((event.rule_id, event.about.target)) if event.lasts else None
    return past[2] if past is not None and past[1] == "notified" else ""


def is_suppressed(context: PipelineContext, event: RuleEvent) -> bool:
    received = _correlated(context, event)
    return received.outcome == "suppressed" or received.root is not None


def _correlated(context: PipelineContext, event: RuleEvent) -> correlation.Correlated:
    return correlation.receive(event, context.world, context.book.on_target(event.about.target))


def _take_in(context: PipelineContext, case: Case, event: RuleEvent, reason: str) -> None:
    how = correlation.taken_in(case.record, event)
    if how == "own":
        case.record = correlation.absorbed(case.record, event)
        _remember(context, case.record, event.rule_id)
        return
    about = replace(opened(event), id=case.record.id)
    if how == "beside":
        entries.end_event(context, about, "absorbed", reason, 1)
    else:
        _absorb_late(context, case, about)
    entries.forget(context, event.rule_id, event.about.target, "absorbed", reason)


def _absorb_late(context: PipelineContext, case: Case, about: CaseRecord) -> None:
    """A closed case stands for what happens in its window all the same: one entry a rule, final with the window."""
    closed, rule_id = case.record, about.rule_id
    assert isinstance(closed, ClosedCase)
    late = dict(closed.late)
    before = context.ledger.record(late[rule_id]) if rule_id in late else None
    if before is not None:
        context.ledger.update(context.root, before.id, events=before.events + 1)
    else:
        late[rule_id] = entries.begin_entry(context, about, None, events=1)
    counted = {**closed.events, rule_id: closed.events.get(rule_id, 0) + 1}
    due = closed.opened_at + context.settings.absorption_window_s
    context.book.keep(case, replace(closed, late=late, events=counted), due)


def _remember(context: PipelineContext, record: CaseRecord, rule_id: str) -> None:
    context.pasts[rule_id, record.target] = Past(record.opened_at, open=True)
