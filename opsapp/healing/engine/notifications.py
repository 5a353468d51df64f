"""What people are told of heals: one message per root cause, because what a root cause suppresses tells nobody.

Written in the transaction that makes it true. Must not: decide whether something is worth telling; stages do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES
from opsapp.healing.stages import ending
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.trust import Change
from opsapp.notify.engine import tell

from .context import PipelineContext

SEVERITY = {"info": "info", "warning": "warning", "error": "critical", "critical": "critical"}
BRAKE_AGAIN_S = 3600.0
DEMOTED = {  # by cause: what the rule does now, and why
    governor.BREAKER: ("only notifies now", "Several of its heals in a row failed within a short time."),
    governor.CUSUM: ("asks for approval now", "Its heals fail more often than they used to."),
}


def notified(context: PipelineContext, case: Mapping[str, Any], reason: str) -> None:
    """A case ended with a message instead of an action."""
    title = case.get("note") or f"{case['target']}: {case['condition']}"
    text = f"{_what(case)} Nothing was done ({reason})."
    _tell(context, case, "heal.notified", _severity(case), title, text, phase="also")


def acts(context: PipelineContext, case: Mapping[str, Any], plan: Plan) -> None:
    """Something of medium risk is about to run by itself."""
    assert plan.choice is not None
    deed = f"{plan.choice.action.name} on {plan.host.hostname if plan.host else case['target']}"
    _tell(context, case, "heal.executing", "warning", f"{case['target']}: {plan.choice.action.name} runs",
          f"{_what(case)} {deed} runs by itself.")  # fmt: skip


def asked(context: PipelineContext, case: Mapping[str, Any], plan: Plan, approval_id: str) -> None:
    assert plan.choice is not None
    title = f"{case['target']}: {plan.choice.action.name} waits for an approval"
    _tell(context, case, "heal.approval", "warning", title, f"{_what(case)} Approval {approval_id} decides.")


def unresolved(context: PipelineContext, case: Mapping[str, Any], outcome: str, reason: str) -> None:
    """The end of a case, and it is not known to be well."""
    severity = "warning" if case["source"] in PREDICTIVE_SOURCES else "critical"
    _tell(context, case, "heal.unresolved", severity, f"{case['target']}: not healed ({outcome})",
          f"{_what(case)} It was not resolved: {reason or outcome}.")  # fmt: skip


def over(context: PipelineContext, about: Mapping[str, Any]) -> None:
    """The condition is known false again. As severe as what people were told of it, to reach the same ones."""
    rule_id, target = about["rule_id"], about["target"]
    severity = context.book.forget_told(rule_id, target)
    if severity is not None:
        text = f"Rule {rule_id}: {about['condition']} no longer holds on {target}."
        _say(context, target, "heal.resolved", severity, f"{target}: over", text)


def _what(case: Mapping[str, Any]) -> str:
    """What the rule has found. What is only predicted does not hold yet, and says so itself."""
    found = case.get("note") or f"{case['condition']} holds on {case['target']}."
    return f"Rule {case['rule_id']}: {found}"


def demoted(context: PipelineContext, change: Change, entry_id: int) -> None:
    """A rule has lost a level by itself."""
    title, why = DEMOTED[change.cause]
    text = f"{why} See ledger entry {entry_id}. Find the cause; then the rule can be promoted again."
    rule_id = change.rule_id
    _call_somebody(context, f"breaker:{rule_id}", "heal.breaker", f"Rule {rule_id} {title}", text)


def braked(context: PipelineContext, plan: Plan) -> None:
    """The brake is on: a person is called, once an hour for as long as it is."""
    said = next((why for why in plan.effective.reasons if why.startswith("brake:")), None)
    if said is None or context.now - context.healing.brake_told_at < BRAKE_AGAIN_S:
        return
    context.healing.brake_told_at = context.now
    text = f"Healing only notifies where this holds: {said.removeprefix('brake: ')}."
    _call_somebody(context, "healing:brake", "heal.brake", "Healing has put its brake on", text)


def _call_somebody(context: PipelineContext, key: str, kind: str, title: str, text: str) -> None:
    tell(context.root, context.now, key=key, kind=kind, severity="critical", title=title, text=text, tags=("healing",))


def _tell(
    context: PipelineContext, case: Mapping[str, Any], kind: str, severity: str, title: str, text: str, phase: str = ""
) -> None:
    _say(context, case["target"], kind, severity, title, text, phase)
    if ending.has_end(case):
        context.book.note_told(case["rule_id"], case["target"], severity)


def _say(
    context: PipelineContext, target: str, kind: str, severity: str, title: str, text: str, phase: str = ""
) -> None:
    tell(context.root, context.now, key=f"heal:{target}", kind=kind, severity=severity, title=title, text=text,
         tags=("healing",), target=target, phase=phase, name=target)  # fmt: skip


def _severity(case: Mapping[str, Any]) -> str:
    return SEVERITY.get(case["severity"], "warning")
