"""Stage 5 in the store: a case's entries are begun and made final; a case is closed with the last one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import ending, ledger
from opsapp.healing.stages.attempt import Tried
from opsapp.healing.stages.planning import Plan

from . import evidence, measuring, notifications, suggestions
from .alerts import Past
from .context import PipelineContext


def level_of(context: PipelineContext, rule_id: str) -> str:
    trust = context.world.trust.get(rule_id)
    return trust.current_level if trust else ""


def end_event(
    context: PipelineContext, case: Mapping[str, Any], rule_id: str, outcome: str, reason: str, events: int
) -> None:
    """An event that ends as it arrives, or that its case stood for."""
    known = {"trust_level": level_of(context, rule_id), "metrics_before": case.get("metrics", {})}
    context.ledger.end(
        context.root, case, rule_id=rule_id, outcome=outcome, reason=reason, now=context.now, events=events, **known
    )
    if ending.tells(outcome, reason):
        notifications.unresolved(context, {**case, "rule_id": rule_id}, outcome, reason)


def begin_entry(context: PipelineContext, case: Case, plan: Plan | None, **fields: Any) -> int:
    """The intent, as far as there is a plan."""
    known: dict[str, Any] = {"metrics_before": case.fields["metrics"], **fields}
    if plan is not None:
        known["trust_level"] = plan.trust_level
    else:
        known["trust_level"] = level_of(context, case.fields["rule_id"])
    if plan is not None and plan.choice is not None:
        choice = plan.choice
        known.update(
            action_type=choice.action.name,
            action_params=ledger.params_text(choice.params),
            risk=choice.action.risk,
            escalation_step=choice.step.position,
        )
        case.set(step=choice.step.position)
    entry = context.ledger.begin(context.root, case.plain(), rule_id=case.fields["rule_id"], now=context.now, **known)
    case.set(entry_id=entry["id"])
    return entry["id"]


def end_now(context: PipelineContext, case: Case, outcome: str, reason: str, plan: Plan | None = None) -> None:
    """The case ends without an effect."""
    if case.fields["entry_id"] is None:
        begin_entry(context, case, plan)
    finish_step(context, case, outcome, reason)


def finish_step(
    context: PipelineContext, case: Case, outcome: str, reason: str, *, on: bool = False, **fields: Any
) -> None:
    """The present entry becomes final. `on`: the chain goes on, else the case closes and stands for its events."""
    events = 0 if on else case.fields["events"].get(case.fields["rule_id"], 0)
    record = context.ledger.finish(
        context.root, case.fields["entry_id"], outcome=outcome, reason=reason, now=context.now, events=events, **fields
    )
    case.why(f"step {case.fields['step']}: {outcome}" + (f", {reason}" if reason else ""))
    case.set(entry_id=None, approval_id=None)
    if record["executed"]:
        step = (ledger.judged(record), case.fields.get("definition"))
        case.set(tried=(*case.fields.get("tried", ()), step))
        suggestions.after_outcome(context.healing, record, context.world.settings, context.now)
    if not on:
        evidence.count_case(context, [Tried(*step) for step in case.fields.get("tried", ())], record)
        if ending.tells(outcome, reason) and not case.fields.get("manual"):
            notifications.unresolved(context, case.fields, outcome, reason)
        _close(context, case, outcome, reason)


def _end_others(context: PipelineContext, case: Case) -> list[str]:
    """The events of other rules, for which the case stood, have their outcome; these rules."""
    others = [rule_id for rule_id in case.fields["events"] if rule_id != case.fields["rule_id"]]
    reason = f"case {case.fields['id']} of {case.fields['rule_id']}"
    for rule_id in others:
        about = {**case.plain(), **case.fields["abouts"][rule_id]}
        end_event(context, about, rule_id, "absorbed", reason, case.fields["events"][rule_id])
    return others


def release_others(context: PipelineContext, case: Case) -> None:
    """From here on the case waits for people, and other rules need not: what they find fires again after their
    cooldown."""
    for rule_id in _end_others(context, case):
        forget(context, rule_id, case.fields["target"], "absorbed", f"case {case.fields['id']}")
    leader = case.fields["rule_id"]
    case.set(events={leader: case.fields["events"][leader]})


def forget(context: PipelineContext, rule_id: str, target: str, outcome: str, reason: str) -> None:
    context.pasts[rule_id, target] = Past(context.now, outcome, reason, False)
    context.book.last_of[rule_id, target] = (context.now, outcome, reason)


def _close(context: PipelineContext, case: Case, outcome: str, reason: str) -> None:
    _end_others(context, case)
    unsure_until = _unsure_until(context, case, outcome)
    context.book.close(case, outcome, reason, context.now, unsure_until)
    if outcome == "verified":  # that was a heal, which tells what came of it itself
        context.book.forget_told(case.fields["rule_id"], case.fields["target"])
    elif context.world.reading(case.fields).verdict is False:
        notifications.over(context, case.fields)
    for rule_id in case.fields["events"]:
        past = Past(case.fields["opened_at"], outcome, reason, False, unsure_until)
        context.pasts[rule_id, case.fields["target"]] = past


def _unsure_until(context: PipelineContext, case: Case, outcome: str) -> float:
    """What was measured before that is no reason to act again. A report that an agent began before its heal was
    measured may arrive after the verdict, and says what was."""
    if outcome == "lost":
        return context.now + (measuring.settle_of(context, case) if case.fields.get("action") else 0.0)
    return context.now if outcome == "verified" and str(case.fields.get("subject", "")).startswith("agent:") else 0.0
