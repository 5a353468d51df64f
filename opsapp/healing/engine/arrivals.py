"""Stage 1 in the store: events are received, and each becomes a case, joins one, or ends with an entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES
from opsapp.healing.resources.cases import Case, about_of, case_of
from opsapp.healing.stages import correlation

from . import entries, evidence, notifications, steps
from .alerts import OVER, Past
from .context import PipelineContext


def receive(context: PipelineContext, event: dict[str, Any]) -> None:
    if event.get("kind") == "rollback":
        steps.begin_manual_rollback(context, event)
        return
    if event.get("kind") == OVER:
        _end_told(context, event)
        return
    if event.get("early") and is_suppressed(context, event):
        return  # as its last one was, and its cooldown is not over: no alert yet
    context.book.last_event_at = int(event["at"])
    received = _correlated(context, event)
    known = context.book.cases[received.case_id].fields["events"] if received.kind == "absorb" else ()
    # Once a case; and a guess is no evidence that the rule sees well.
    if event["source"] not in PREDICTIVE_SOURCES and event["rule_id"] not in known:
        evidence.count_trigger(context, event["rule_id"])
    if received.kind == "open":
        case = context.book.open(case_of(event), received.due)
        case.why(f"event of rule {event['rule_id']}: held until {received.due - context.now:.1f} s from now")
        _remember(context, case, event["rule_id"])
        context.measure_above(received.ask)
    elif received.kind == "absorb":
        _take_in(context, context.book.cases[received.case_id], event, received.reason)
    else:
        outcome = received.outcome or ""
        entries.end_event(context, case_of(event), event["rule_id"], outcome, received.reason, 1)
        entries.forget(context, event["rule_id"], event["target"], outcome, received.reason)


def is_suppressed(context: PipelineContext, event: Mapping[str, Any]) -> bool:
    received = _correlated(context, event)
    return received.outcome == "suppressed" or received.root is not None


def _correlated(context: PipelineContext, event: Mapping[str, Any]) -> correlation.Received:
    return correlation.receive(event, context.world, context.book.on_target(event["target"]))


def _end_told(context: PipelineContext, event: Mapping[str, Any]) -> None:
    """A condition is known false. A case of its rule that is at work says itself what came of it."""
    cases = [case.fields for case in context.book.open_cases(event["target"])]
    own = [case for case in cases if event["rule_id"] in case["events"]]
    if all(case["state"] == "awaiting_approval" for case in own):
        notifications.over(context, event)


def _take_in(context: PipelineContext, case: Case, event: dict[str, Any], reason: str) -> None:
    """The case stands for the event: as one of its own while it acts, as one more entry when it does not."""
    rule_id, state = event["rule_id"], case.fields["state"]
    waits = state == "awaiting_approval" and rule_id != case.fields["rule_id"]
    if state != "closed" and not waits:
        _absorb(context, case, event)
        return
    if waits:
        about = {**case_of(event), "id": case.fields["id"]}
        entries.end_event(context, about, rule_id, "absorbed", reason, 1)
    else:
        _absorb_late(context, case, event)
    entries.forget(context, rule_id, event["target"], "absorbed", reason)


def _absorb(context: PipelineContext, case: Case, event: dict[str, Any]) -> None:
    rule_id, fields = event["rule_id"], case.fields
    events = {**fields["events"], rule_id: fields["events"].get(rule_id, 0) + 1}
    about = fields["abouts"].get(rule_id)
    if about is None or about["source"] in PREDICTIVE_SOURCES:  # what has happened counts for more than a guess
        about = about_of(event)
    case.set(events=events, abouts={**fields["abouts"], rule_id: about})
    _remember(context, case, rule_id)


def _absorb_late(context: PipelineContext, case: Case, event: dict[str, Any]) -> None:
    """The case is closed, and stands for what happens now all the same: one entry a rule, however often it fires,
    which becomes final with the window."""
    rule_id, late = event["rule_id"], case.fields.get("late") or {}
    if rule_id in late:
        before = context.ledger.entries[late[rule_id]].fields["events"]
        context.ledger.update(context.root, late[rule_id], events=before + 1)
    else:
        about = {**case_of(event), "id": case.fields["id"]}
        level = entries.level_of(context, rule_id)
        known = {"trust_level": level, "metrics_before": event["metrics"], "events": 1}
        entry = context.ledger.begin(context.root, about, rule_id=rule_id, now=context.now, **known)
        late = {**late, rule_id: entry["id"]}
    counted = {**case.fields["events"], rule_id: case.fields["events"].get(rule_id, 0) + 1}
    case.set(late=late, events=counted)
    context.book.schedule(case, case.fields["opened_at"] + context.world.settings.absorption_window_s)


def end_late(context: PipelineContext, case: Case) -> None:
    """The window is over: what came after the case had closed has its outcome."""
    reason = f"case {case.fields['id']} is about the same target"
    for entry_id in (case.fields.get("late") or {}).values():
        context.ledger.finish(context.root, entry_id, outcome="absorbed", reason=reason, now=context.now)
    case.set(late={})
    context.book.rest(case)


def _remember(context: PipelineContext, case: Case, rule_id: str) -> None:
    context.pasts[rule_id, case.fields["target"]] = Past(case.fields["opened_at"], "", "", True)
