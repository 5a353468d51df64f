"""Stage 5 in the store: a case's entries are begun and made final; a case is closed with the last one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import ending, ledger, looking
from opsapp.healing.stages.attempt import TAKEN, Tried
from opsapp.healing.stages.case import CaseRecord, ClosedCase, PlanningCase
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.moves import EndCase, EntryFields, NextStep
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.timing import settle_of
from opsapp.healing.stages.world import SERVER, World
from opsapp.wire.actions import ACTIONS
from opsapp.wire.spoken import spoken_action

from . import notifications, trials, trusted, waves
from .alerts import Past
from .context import PipelineContext


def level_of(context: PipelineContext, rule_id: str) -> str:
    trust = context.world.trust.get(rule_id)
    return trust.current_level if trust else ""


def end_event(context: PipelineContext, record: CaseRecord, outcome: str, reason: str, events: int) -> None:
    """An event that ends as it arrives, or that its case stood for."""
    rule_id, about = record.rule_id, record.about
    entry = context.ledger.end(
        context.root,
        record,
        rule_id=rule_id,
        outcome=outcome,
        reason=reason,
        now=context.now,
        events=events,
        trust_level=level_of(context, rule_id),
        metrics_before=about.metrics,
    )
    if ending.tells(outcome, reason):
        notifications.unresolved(context, rule_id, about, entry)


def begin_entry(context: PipelineContext, record: CaseRecord, plan: Plan | None, **fields: Any) -> int:
    """The intent; its number."""
    choice = None if plan is None else plan.choice
    if choice is not None:
        fields.update(
            action_type=choice.action.name,
            action_params=ledger.params_text(choice.params),
            risk=choice.action.risk,
            escalation_step=choice.step.position,
        )
    return context.ledger.begin(
        context.root,
        record,
        rule_id=record.rule_id,
        now=context.now,
        metrics_before=record.about.metrics,
        trust_level=level_of(context, record.rule_id) if plan is None else plan.trust_level,
        lowered=record.lowered,
        **fields,
    ).id


def finish(context: PipelineContext, ended: NextStep | EndCase) -> tuple[CaseRecord, LedgerRecord]:
    """The case after that, and the entry. What ends its case stands for its events."""
    record, outcome, reason = ended.case, ended.outcome, ended.reason
    events = record.events.get(record.rule_id, 0) if isinstance(ended, EndCase) else 0
    entry_id = record.entry_id or begin_entry(context, record, ended.plan)
    learned: EntryFields = {**(ended.entry or {}), "reason": reason}
    entry = context.ledger.finish(
        context.root,
        entry_id,
        outcome=outcome,
        now=context.now,
        events=events,
        host=_host_of(record),
        cause=looking.named(record.cause),
        **learned,
    )
    context.book.calm.pop(record.id, None)
    record = record.saying(f"step {record.step}: {outcome}" + (f", {reason}" if reason else ""))
    was_tried = bool(entry.action_type) and outcome in TAKEN
    attempts = (*record.attempts, _attempt(context, record, entry)) if was_tried else record.attempts
    record = replace(record, entry_id=None, approval_id=None, attempts=attempts, said="")
    if entry.executed:
        definition = None if record.heal is None else record.heal.definition
        record = replace(record, tried=(*record.tried, Tried(ledger.judged(entry), definition)))
        trusted.suggest_after(context, entry)
    return record, entry


def _attempt(context: PipelineContext, record: CaseRecord, entry: LedgerRecord) -> str:
    """What was done where, what it answered, and what that came to."""
    host = None if record.heal is None else context.world.hosts.get(record.heal.host)
    where = f" on {host.hostname}" if host is not None else ""
    came_to = f"{record.said} ({entry.reason})" if record.said else entry.reason or str(entry.outcome)
    return f"{spoken_action(entry.action_type)}{where}: {came_to}"


def _host_of(record: CaseRecord) -> str | None:
    """Where its target's name does not say so: several monitors may be of one host."""
    is_monitor = (record.about.subject or "").startswith("monitor:")
    return record.heal.host if is_monitor and record.heal is not None and record.heal.host != SERVER else None


def next_step(context: PipelineContext, ended: NextStep) -> PlanningCase:
    record, entry = finish(context, ended)
    harmed = record.harmed or bool(entry.worse)
    if entry.worse:  # whatever the next step brings
        notifications.unresolved(context, record.rule_id, record.about, entry, record.attempts)
        waves.ended(context, record, ended.outcome, ended.reason, entry)
    return record.becomes(PlanningCase, step=record.step + 1, harmed=harmed)


def end_case(context: PipelineContext, case: Case, ended: EndCase) -> None:
    record, entry = finish(context, ended)
    outcome, reason = ended.outcome, ended.reason
    trusted.count_case(context, record.tried, entry, drawn=record.arm is not None)
    tells = ending.tells(outcome, reason, acted=bool(record.tried)) and not record.manual
    if tells and not waves.is_told_with_its_deed(context, record, outcome):
        notifications.unresolved(context, record.rule_id, record.about, entry, record.attempts)
    end_others(context, record)
    unsure_until = _unsure_until(record, outcome, context.world)
    is_well = outcome == "verified" or reason.startswith("condition_gone")
    recovered_at = record.recovered_at or (context.now if is_well else None)
    closed = record.becomes(ClosedCase, outcome=outcome, closed_at=context.now, recovered_at=recovered_at)
    context.book.close(case, closed, reason, unsure_until)
    trials.ends(context, closed, outcome, reason)
    if ended.root is not None:
        trials.held_back(context, record.rule_id, record.target, ended.root)
    waves.ended(context, record, outcome, reason, entry)
    if outcome == "verified" and not record.harmed:  # that was a heal, which tells what came of it itself
        context.book.forget_told(record.rule_id, record.target)
        notifications.withdraw_unhealed(context, record.rule_id, record.target)
    elif context.world.reading(record.about).verdict is False:
        notifications.over(context, record.rule_id, record.about.rule_condition, record.target)
    for rule_id in record.events:
        past = Past(record.opened_at, closed.outcome_for(rule_id), reason, unsure_until)
        context.pasts[rule_id, record.target] = past


def end_others(context: PipelineContext, record: CaseRecord) -> list[str]:
    """The events of other rules, for which the case stood, have their outcome; these rules."""
    others = [rule_id for rule_id in record.events if rule_id != record.rule_id]
    for rule_id in others:
        other = replace(record, rule_id=rule_id, about=record.abouts[rule_id])
        end_event(context, other, "absorbed", f"case {record.id} of {record.rule_id}", record.events[rule_id])
    return others


def release_others(context: PipelineContext, record: CaseRecord) -> None:
    """End what other rules found: from here on the case waits for people, and these rules fire again after their
    cooldown."""
    for rule_id in end_others(context, record):
        forget(context, rule_id, record.target, "absorbed", f"case {record.id}")


def forget(context: PipelineContext, rule_id: str, target: str, outcome: str, reason: str) -> None:
    context.pasts[rule_id, target] = Past(context.now, outcome, reason)
    context.book.last_of[rule_id, target] = (context.now, outcome, reason)


def _unsure_until(record: CaseRecord, outcome: str, world: World) -> float:
    """What was measured before that is no reason to act again: such a report may arrive after the verdict."""
    if outcome == "lost":
        settles = 0.0 if record.heal is None else settle_of(record.rule_id, ACTIONS[record.heal.action], world)
        return world.now + settles
    return world.now if outcome == "verified" and str(record.about.subject or "").startswith("agent:") else 0.0
