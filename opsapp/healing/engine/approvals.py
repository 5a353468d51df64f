"""A heal that people have to agree to: what they are shown, what that stands on, what becomes of it meanwhile.

The approval is bound to a hash of the plan. At the click, and again before the act, its ground is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.approvals import resources as approvals
from opsapp.approvals.config import ApprovalSettings
from opsapp.approvals.resources import Approval
from opsapp.automations.resources import digests
from opsapp.healing.logic.levels import behaviour
from opsapp.healing.logic.rules import RUNS
from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import execution, planning
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.trust import effective
from opsapp.healing.stages.world import World
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from . import entries, line, notifications, steps
from .context import PipelineContext

LOOK_S = 60.0


def ask(context: PipelineContext, case: Case, plan: Plan) -> None:
    entry = entries.begin_entry(context, case, plan, state="awaiting_approval", outcome="awaiting_approval")
    assert plan.choice is not None
    approval = approvals.request(
        context.root,
        kind="heal",
        subject=case.fields["target"],
        plan=approval_plan(case.fields, plan, context.world, context.root),
        risk=plan.choice.action.risk,
        reason=f"{case.fields['rule_id']}: {case.fields['condition']}",
        requested_by="healing",
        now=context.now,
        expiry_s=node_of(context.root).config[ApprovalSettings].expiry_s,
        about={"case_id": case.fields["id"], "ledger_id": entry},
    )
    context.ledger.update(context.root, entry, approval_id=approval.__name__)
    notifications.asked(context, case.fields, plan, approval.__name__)
    entries.release_others(context, case)
    case.set(state="awaiting_approval", approval_id=approval.__name__, waits_from=context.now)
    case.why(f"approval {approval.__name__} requested")
    context.book.wait_for(case, approval.__name__)
    context.book.schedule(case, context.now + LOOK_S)


def look(context: PipelineContext, case: Case) -> None:
    approval = context.root["api"]["approvals"].get(case.fields["approval_id"])
    status = "expired" if approval is None else approval.status
    if status == "pending":
        _wait_on(context, case, approval)
        return
    if status == "approved":
        _carry_out(context, case, approval)
        return
    case.why(f"approval {status}" + _by(approval))
    entries.finish_step(context, case, status, (approval.comment if approval else None) or f"approval {status}")


def _carry_out(context: PipelineContext, case: Case, approval: Approval) -> None:
    """Approved: it is done if what people agreed to still stands, once it is the case's turn."""
    if line.stands_in_line(context, case, approval.plan["host"] or ""):
        return
    gone = ground_gone(case.fields, approval, context.world, context.root)
    plan = planning.plan(case.plain(), context.world) if gone is None else None
    if plan is not None:
        found = line.look(context, case, plan)
        if found.kind == "wait":
            return
        gone = found.reason if found.kind == "end" else None
    case.why("approval approved" + _by(approval))
    if plan is None or gone is not None:
        entries.finish_step(context, case, "withdrawn", gone or "")
        return
    entry = context.ledger.update(context.root, case.fields["entry_id"], state="executing", outcome=None)
    steps.begin(context, case, plan, entry["id"])


def _by(approval: Approval | None) -> str:
    return f" by {approval.decided_by}" if approval and approval.decided_by else ""


def _wait_on(context: PipelineContext, case: Case, approval: Approval) -> None:
    """Nobody has decided. What nothing wants any more is not asked for any longer."""
    why = _unwanted(case.fields, approval, context.world)
    if why is None:
        context.book.schedule(case, context.now + LOOK_S)
        return
    approval.close(context.root, "withdrawn", by=None, now=context.now, comment=why)
    context.book.waiting_for.pop(approval.__name__, None)
    entries.finish_step(context, case, "withdrawn", why)


def _unwanted(case: Mapping[str, Any], approval: Approval, world: World) -> str | None:
    """What does not pass by itself, as a window, the brake and a host that is away do: the case must not stand for an
    hour for what its rule finds."""
    rule = world.rules.get(case["rule_id"])
    if rule is None or not rule["enabled"]:
        return "rule_disabled"
    if not world.known(case):
        return "target_gone"
    trust = world.trust[case["rule_id"]]
    if trust.definition != approval.plan["definition"]:
        return "rule_edited"
    level = effective(trust, source=case["source"], caps=()).level
    return None if behaviour(level, approval.risk) in ("request_approval", "execute") else f"level {level} by now"


def approval_plan(case: Mapping[str, Any], plan: Plan, world: World, root: Root) -> dict[str, Any]:
    """What is approved, and bound by its hash: the deed, where, why, and under which definition of the rule. Of an
    automation also what it does now, and what it is made of."""
    choice, host = plan.choice, plan.host
    param = RUNS.get(choice.action.name) if choice else None
    automation = {"automation": digests(root, choice.params[param])} if choice and param else {}
    return {
        **automation,
        "action": choice.action.name if choice else None,
        "params": choice.params if choice else {},
        "step": choice.step.position if choice else None,
        "host": host.agent_id if host else None,
        "hostname": host.hostname if host else None,
        "target": case["target"],
        "condition": case["condition"],
        "rule_id": case["rule_id"],
        "definition": world.trust[case["rule_id"]].definition,
        "rollback": execution.rollback_plan(choice.action if choice else None, None)["how"],
    }


def ground_gone(case: Mapping[str, Any], approval: Any, world: World, root: Root) -> str | None:
    """Why an approval no longer stands: rule gone, paused, condition known false, another plan, a host that is away."""
    if case["state"] != "awaiting_approval" or case["rule_id"] not in world.rules:
        return "the case or its rule is gone"
    if not world.known(case):
        return "target_gone: it is no longer looked at"
    if world.paused:
        return "healing is paused"
    if world.reading(case).verdict is False:
        return "condition_gone: the condition no longer holds"
    plan = planning.plan(case, world)
    if plan.would not in ("request_approval", "execute"):
        return f"the plan has changed: {plan.reason or plan.would}"
    if approvals.plan_hash(approval_plan(case, plan, world, root)) != approval.plan_hash:
        return "the plan has changed"
    return None
