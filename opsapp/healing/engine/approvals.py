"""A heal that people have to agree to, in the store: it is asked for, read, and withdrawn."""

from __future__ import annotations

from opsapp.approvals import resources as approvals
from opsapp.approvals.config import ApprovalSettings
from opsapp.approvals.resources import Approval
from opsapp.automations.engine import shown_of
from opsapp.healing.stages.approval import EXPIRED, Hashed, Request, gone_or_plan, plan_shown
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.moves import AskApproval
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.world import World
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .context import PipelineContext


def ask(context: PipelineContext, asked: AskApproval, entry_id: int) -> Approval:
    record, plan = asked.case, asked.plan
    assert plan.choice is not None
    return approvals.request(
        context.root,
        kind="heal",
        subject=record.target,
        plan=_shown(record, plan, context.world, context.root),
        risk=plan.choice.action.risk,
        reason=f"{record.rule_id}: {record.about.rule_condition}",
        requested_by="healing",
        now=context.now,
        expiry_s=node_of(context.root).config[ApprovalSettings].expiry_s,
        about={"case_id": record.id, "ledger_id": entry_id},
    )


def approval_of(root: Root, record: CaseRecord) -> Approval | None:
    return root["api"]["approvals"].get(record.approval_id)


def request_of(approval: Approval | None) -> Request:
    if approval is None:
        return EXPIRED
    return Request(
        approval.status,
        approval.decided_by,
        approval.comment,
        approval.risk or "low",
        approval.plan["host"],
        approval.plan["definition"],
        approval.plan_hash,
    )


def withdraw(context: PipelineContext, record: CaseRecord, why: str) -> None:
    """Nothing wants any more what nobody has decided about yet."""
    approval = approval_of(context.root, record)
    if approval is not None and approval.status == "pending":
        approval.close(context.root, "withdrawn", by=None, now=context.now, comment=why)
        context.book.waiting_for.pop(approval.__name__, None)


def hashed(record: CaseRecord, world: World, root: Root) -> Hashed:
    return lambda plan: approvals.plan_hash(_shown(record, plan, world, root))


def ground_gone(record: CaseRecord, approval: Approval, world: World, root: Root) -> str | None:
    """Why an approval no longer stands."""
    return gone_or_plan(record, approval.plan_hash, world, hashed(record, world, root))[0]


def _shown(record: CaseRecord, plan: Plan, world: World, root: Root) -> JsonObject:
    return plan_shown(record, plan, world, lambda automation_id: shown_of(root, automation_id))
