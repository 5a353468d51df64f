"""A heal that people have to agree to, in the store: it is asked for, read, and withdrawn."""

from __future__ import annotations

from collections.abc import Sequence

from opsapp.approvals import resources as approvals
from opsapp.approvals.config import ApprovalSettings
from opsapp.approvals.resources import Approval, approvals_of
from opsapp.automations.engine import shown_of
from opsapp.healing.granted import Allowance, Allowed, IAllowance
from opsapp.healing.stages.approval import EXPIRED, Hashed, Request, gone_or_plan, plan_shown
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.world import World
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .context import PipelineContext
from .waves import sizes_of

Wanted = tuple[CaseRecord, Plan]


def ask(context: PipelineContext, wanted: Sequence[Wanted]) -> Approval:
    """One request for a case, or for all of an outage; of these the first one leads."""
    record, plan = wanted[0]
    assert plan.choice is not None
    shown = [_shown(asked, planned, context.world, context.root) for asked, planned in wanted]
    together = len(wanted) > 1
    allowed = None if together else allowed_before(context.root, record, shown[0])
    asked = approvals.request(
        context.root,
        kind="heal",
        subject=f"{len(wanted)} targets" if together else record.target,
        plan=_together(context, wanted, shown) if together else shown[0],
        risk=plan.choice.action.risk,
        reason=f"{record.rule_id}: {record.about.rule_condition}"
        + ("" if plan.effective.lowered is None else f" ({plan.effective.lowered})"),
        requested_by="healing" if allowed is None else allowed.requested_by,
        now=context.now,
        expiry_s=node_of(context.root).config[ApprovalSettings].expiry_s,
        about={"case_id": record.id, "ledger_id": record.entry_id, **({} if allowed is None else allowed.about)},
    )
    if allowed is not None:
        asked.allow(context.root, allowed.by, allowed.comment, context.now)
    return asked


def allowed_before(root: Root, record: CaseRecord, plan: JsonObject) -> Allowed | None:
    """The yes to the proposal for which the rule was made."""
    allowance: Allowance | None = node_of(root).registry.queryUtility(IAllowance)
    return None if allowance is None else allowance(root, record.rule_id, record.id, plan)


def _together(context: PipelineContext, wanted: Sequence[Wanted], shown: list[JsonObject]) -> JsonObject:
    """What is the same for all, and each target with the digest of what would be done about it."""
    first = wanted[0][0]
    targets = [
        {
            **{name: plan[name] for name in ("target", "host", "hostname", "params")},
            "case_id": record.id,
            "digest": approvals.plan_hash(plan),
        }
        for (record, _), plan in zip(wanted, shown, strict=True)
    ]
    same = all(plan["params"] == shown[0]["params"] for plan in shown)
    sizes = sizes_of(context, first.rule_id)
    return {
        **shown[0],
        "host": None,
        "hostname": None,
        "target": f"{len(wanted)} targets",
        "params": shown[0]["params"] if same else {},
        "targets": targets,
        "waves": str(sizes or "off"),
    }


def answer_to(approval: Approval, case_id: str) -> str:
    """The name of the answer that this case waits for: many may wait for one decision."""
    return f"{approval.__name__}/{case_id}" if approval.targets else approval.__name__


def approval_of(root: Root, record: CaseRecord) -> Approval | None:
    return approvals_of(root).get(record.approval_id) if record.approval_id else None


def request_of(approval: Approval | None, record: CaseRecord) -> Request:
    if approval is None:
        return EXPIRED
    own = approval.targets.get(record.id)
    return Request(
        approval.status,
        approval.decided_by,
        approval.comment,
        approval.risk or "low",
        approval.plan["host"] if own is None else own["host"],
        approval.plan["definition"],
        approval.plan_hash if own is None else own["digest"],
    )


def withdraw(context: PipelineContext, record: CaseRecord, why: str) -> None:
    """Nothing wants any more what nobody has decided about yet. Others may still want their part of it."""
    approval = approval_of(context.root, record)
    if approval is None:
        return
    context.book.waiting_for.pop(answer_to(approval, record.id), None)
    if approval.status == "pending" and not context.book.waits_for_part(approval.__name__):
        approval.close(context.root, "withdrawn", by=None, now=context.now, comment=why)


def hashed(record: CaseRecord, world: World, root: Root) -> Hashed:
    return lambda plan: approvals.plan_hash(_shown(record, plan, world, root))


def ground_gone(record: CaseRecord, approval: Approval, world: World, root: Root) -> str | None:
    """Why an approval no longer stands for this case."""
    return gone_or_plan(record, request_of(approval, record).plan_hash, world, hashed(record, world, root))[0]


def _shown(record: CaseRecord, plan: Plan, world: World, root: Root) -> JsonObject:
    return plan_shown(record, plan, world, lambda automation_id: shown_of(root, automation_id))
