"""A heal that people have to agree to, in the store: asked for, read, withdrawn."""

from __future__ import annotations

from collections.abc import Sequence

from opsapp.approvals import resources as approvals
from opsapp.approvals.config import ApprovalSettings
from opsapp.approvals.records import NewRequest
from opsapp.approvals.resources import Approval, approvals_of
from opsapp.automations.engine import shown_of
from opsapp.healing.granted import Allowance, Allowed, IAllowance
from opsapp.healing.resources.requestdrafts import RequestDraft
from opsapp.healing.stages.approval import EXPIRED, AskedTarget, Hashed, HealPlan, Request, gone_or_plan, plan_shown
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.world import World
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from . import notifications
from .context import PipelineContext
from .reach import subjects_asked
from .waves import sizes_of


def ask(context: PipelineContext, wanted: Sequence[tuple[CaseRecord, Plan]]) -> Approval:
    """About a case, or all of an outage, of which the first leads."""
    record, plan = wanted[0]
    assert plan.choice is not None
    plans = [shown(asked, planned, context.world, context.root) for asked, planned in wanted]
    risk, reason = plan.choice.action.risk, reason_of(context, record, plan)
    if len(wanted) > 1:
        targets = [target_of(asked, own) for (asked, _), own in zip(wanted, plans, strict=True)]
        whole = _together(context, record.rule_id, plans[0], targets)
        pairs = zip(wanted, plans, strict=True)
        subjects = [subject for (asked, _), own in pairs for subject in subjects_asked(asked, own)]
        request = _new_request(context, record, whole, reason, risk, subjects)
        return approvals.request(context.root, request, context.now)
    request = _new_request(context, record, plans[0], reason, risk, subjects_asked(record, plans[0]))
    allowed = allowed_before(context.root, record, plans[0])
    if allowed is None:
        return approvals.request(context.root, request, context.now)
    request = request._replace(requested_by=allowed.requested_by, about={**request.about, **allowed.about})
    approval = approvals.request(context.root, request, context.now)
    approval.allow(context.root, allowed.by, allowed.comment, context.now)
    return approval


def ask_drafted(
    context: PipelineContext, draft: RequestDraft, first: CaseRecord, targets: Sequence[AskedTarget]
) -> Approval:
    """What several transactions have written: `first` leads, whose target is among these."""
    plan = _together(context, first.rule_id, draft.shown, targets)
    request = _new_request(context, first, plan, draft.reason, draft.risk, draft.subjects())
    return approvals.request(context.root, request._replace(name=draft.name), context.now)


def _new_request(
    context: PipelineContext, record: CaseRecord, plan: HealPlan, reason: str, risk: str, subjects: Sequence[str]
) -> NewRequest:
    return NewRequest(
        "heal",
        plan.target,
        plan.stored(),
        reason,
        "healing",
        node_of(context.root).config[ApprovalSettings].expiry_s,
        {"case_id": record.id, "ledger_id": record.entry_id},
        risk,
        subjects=subjects,
    )


def reason_of(context: PipelineContext, record: CaseRecord, plan: Plan) -> str:
    lowered = "" if plan.effective.lowered is None else f" ({plan.effective.lowered})"
    what = notifications.sentence(context, record.rule_id, record.about.rule_condition)
    return f"{what} (rule {record.rule_id}){lowered}"


def allowed_before(root: Root, record: CaseRecord, plan: HealPlan) -> Allowed | None:
    """The yes to the proposal for which the rule was made."""
    allowance: Allowance | None = node_of(root).registry.queryUtility(IAllowance)
    return None if allowance is None else allowance(root, record.rule_id, record.id, plan.stored())


def target_of(record: CaseRecord, plan: HealPlan) -> AskedTarget:
    digest = approvals.plan_hash(plan.stored())
    return AskedTarget(plan.target, plan.host, plan.hostname, plan.params, record.id, digest)


def _together(context: PipelineContext, rule_id: str, first: HealPlan, targets: Sequence[AskedTarget]) -> HealPlan:
    first_target, *others = targets
    return first._replace(
        host=None,
        hostname=None,
        target=f"{len(targets)} targets" if others else first_target.target,
        params=first_target.params if all(other.params == first_target.params for other in others) else {},
        targets=tuple(targets),
        waves=str(sizes_of(context, rule_id) or "off"),
    )


def answer_to(approval: Approval, case_id: str) -> str:
    """Many may wait for one decision."""
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


def request_now(context: PipelineContext, record: CaseRecord) -> Request:
    """Return the case's request as it is now; one that is not whole yet is pending, since nobody has decided on it."""
    approval = approval_of(context.root, record)
    draft = context.healing.waves.draft_of(record) if approval is None else None
    if draft is None:
        return request_of(approval, record)
    return Request("pending", risk=draft.risk, definition=draft.shown.definition)


def withdraw(context: PipelineContext, record: CaseRecord, why: str) -> None:
    """Others may still want their part of it."""
    approval = approval_of(context.root, record)
    if approval is None:
        context.book.waiting_for.pop(f"{record.approval_id}/{record.id}", None)
        return
    context.book.waiting_for.pop(answer_to(approval, record.id), None)
    if approval.status == "pending" and not context.book.waits_for_part(approval.__name__):
        approval.close(context.root, "withdrawn", by=None, now=context.now, comment=why)


def hashed(record: CaseRecord, world: World, root: Root) -> Hashed:
    return lambda plan: approvals.plan_hash(shown(record, plan, world, root).stored())


def ground_gone(record: CaseRecord, approval: Approval, world: World, root: Root) -> str | None:
    """Why an approval no longer stands for this case."""
    return gone_or_plan(record, request_of(approval, record).plan_hash, world, hashed(record, world, root))[0]


def shown(record: CaseRecord, plan: Plan, world: World, root: Root) -> HealPlan:
    return plan_shown(record, plan, world, lambda automation_id: shown_of(root, automation_id))
