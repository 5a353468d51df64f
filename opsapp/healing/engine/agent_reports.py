"""What agents healed alone while the server was away, as ledger entries: once, and only what they may speak of."""

from __future__ import annotations

from dataclasses import replace

from opsapp.agents.engine import silences_of, terms_of
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources.cases import case_of
from opsapp.healing.stages import ending, ledger, reported
from opsapp.healing.stages.attempt import Tried
from opsapp.healing.stages.case import About
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.actions import ACTIONS
from opsapp.wire.records import plain
from opsapp.wire.reports import AgentOutcome

from . import entries, evidence, notifications, suggestions
from .context import PipelineContext

KEEP_S, KEEP_MOST = 86400.0, 500  # the steps that an agent is remembered to have taken alone
LOCAL = ("verified", "failed", "inconclusive", "rolled_back", "lost", "skipped")


def report_local(context: PipelineContext, outcome: AgentOutcome) -> None:
    """An agent's outcome. For the target of another host, or for an unknown rule, it is recorded as refused."""
    name = f"{outcome.agent_id}:{outcome.outcome_id}"
    if name in context.healing.reported:  # the agent did not get our receipt, and sent it again
        return
    context.healing.reported[name] = context.now
    began = min(outcome.created_at, context.now)
    host = context.world.hosts.get(outcome.agent_id)
    target = outcome.target or (host.hostname if host else outcome.agent_id)
    own = host is not None and names_of(target)[-1] in (host.hostname, host.agent_id, host.label)
    known = outcome.rule_id in context.world.rules
    given = outcome.rule_id in context.healing.given.get(outcome.agent_id, ())
    event = {
        "source": "agent",
        "rule_id": outcome.rule_id,
        "condition": outcome.condition,
        "target": target if own else (host.hostname if host else outcome.agent_id),
        "severity": "info",
        "metrics": outcome.metrics_before,
        "agent_id": outcome.agent_id,
        "subject": None,
        "names": (),
        "at": began,
    }
    why = _refusal(context, outcome, own=own, known=known, given=given)
    if why is not None:
        entries.end_event(context, case_of(event), "suppressed", why, 1)
        return
    record = _record(context, outcome, event, began)
    if record.executed:
        suggestions.after_outcome(context.healing, record, context.world.settings, context.now)
    if not outcome.escalated:  # the last step of its case
        said = str(record.outcome)
        if ending.tells(said, record.reason):
            about = About(record.source, record.condition, record.target)
            attempt = f"{record.action_type} by the agent of {names_of(record.target)[-1]} alone: {record.reason}"
            notifications.unresolved(context, record.rule_id, about, record, (attempt,))
        tried = [Tried(ledger.judged(record), None)] if record.executed else []
        evidence.count_case(context, tried, record, alone_at=began + outcome.duration_s)


def _refusal(context: PipelineContext, outcome: AgentOutcome, *, own: bool, known: bool, given: bool) -> str | None:
    """Why it is recorded as refused. What is taken for true uses up the host's budget, and nobody else's."""
    agent_id = outcome.agent_id
    if not own or not known or not given:
        why = "not its own host" if not own else "no such rule" if not known else "a rule that it was not given"
        return f"reported by {agent_id}: {why}"
    given_to_it = terms_of(context.root, agent_id, outcome.policy_version)
    terms = None if given_to_it is None else reported.Terms(*given_to_it)
    believed = [reported.BelievedStep(*step) for step in context.healing.alone.get(agent_id, ())]
    refusal = reported.refusal(outcome, terms, silences_of(context.root, agent_id), believed)
    if refusal is None:
        context.healing.alone[agent_id] = reported.noted(outcome, believed, keep_s=KEEP_S, most=KEEP_MOST)
    return refusal


def _record(context: PipelineContext, outcome: AgentOutcome, event: JsonObject, began: float) -> LedgerRecord:
    """Its entry in the ledger."""
    reported = outcome.outcome if outcome.outcome in LOCAL else "inconclusive"
    trust, action_type = context.world.trust[outcome.rule_id], outcome.action_type or ""
    action = ACTIONS.get(action_type)
    kept = action is not None and action.snapshot is not None
    case_id = outcome.case_id or outcome.outcome_id
    entry = context.ledger.begin(
        context.root,
        replace(case_of(event), id=case_id, step=outcome.escalation_step),
        rule_id=outcome.rule_id,
        now=began,
        trust_level=trust.current_level,
        action_type=action_type,
        action_params=ledger.params_text(outcome.action_params),
        action_success=outcome.action_success,
        risk=None if action is None else action.risk,
        snapshot_id=f"alone.{outcome.outcome_id}" if kept else None,  # as the agent calls it on its disk
        duration_s=outcome.duration_s,
        metrics_before=outcome.metrics_before,
        metrics_after=outcome.metrics_after,
        executed=outcome.executed and reported != "skipped",
        worse=tuple(map(plain, outcome.worse)),
    )
    return context.ledger.finish(
        context.root,
        entry.id,
        outcome=reported,
        reason=outcome.reason or "healed by the agent alone",
        now=context.now,
        events=0 if outcome.escalated else 1,
        verdict=outcome.verdict,
        rollback_status="rolled_back" if reported == "rolled_back" else None,
    )
