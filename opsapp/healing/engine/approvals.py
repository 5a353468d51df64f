"""A heal that people have to agree to, in the store: asked for, read, withdrawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opsapp.approvals import resources as approvals
from opsapp.approvals.config import ApprovalSettings
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

from .context import PipelineContext
from .reach import subjects_asked
from .waves import sizes_of

Wanted = tuple[CaseRecord, Plan]


def ask(context: PipelineContext, wanted: Sequence[Wanted]) -> Approval:
    """About a case, or all of an outage, of which the first leads."""
    record, plan = wanted[0]
    assert plan.choice is not None
    plans = [shown(asked, planned, context.world, context.root) for asked, planned in wanted]
    reason, risk = reason_of(record, plan), plan.choice.action.risk
    if len(wanted) > 1:
        targets = [target_of(asked, own) for (asked, _), own in zip(wanted, plans, strict=True)]
        whole = _together(context, record.rule_id, plans[0], targets)
        pairs = zip(wanted, plans, strict=True)
        about = [subject for (asked, _), own in pairs for subject in subjects_asked(asked, own)]
        return _request(context, record, whole, about, reason=reason, risk=risk, requested_by="healing")
    allowed = allowed_before(context.root, record, plans[0])
    by, more = ("healing", None) if allowed is None else (allowed.requested_by, allowed.about)
    subjects = subjects_asked(record, plans[0])
    asked = _request(context, record, plans[0], subjects, reason=reason, risk=risk, requested_by=by, more=more)
    if allowed is not None:
        asked.allow(context.root, allowed.by, allowed.comment, context.now)
    return asked


def ask_drafted(
    context: PipelineContext, draft: RequestDraft, first: CaseRecord, targets: Sequence[AskedTarget]
) -> Approval:
    """What several transactions have written: `first` leads, whose target is among these."""
    plan = _together(context, first.rule_id, draft.shown, targets)
    return _request(
        context,
        first,
        plan,
        draft.subjects(),
        reason=draft.reason,
        risk=draft.risk,
        requested_by="healing",
        name=draft.name,
    )


def _request(
    context: PipelineContext,
    record: CaseRecord,
    plan: HealPlan,
    subjects: Sequence[str],
    *,
    reason: str,
    risk: str,
    requested_by: str,
    more: Mapping[str, object] | None = None,
    name: str | None = None,
) -> Approval:
    return approvals.request(
        context.root,
        kind="heal",
        subject=plan.target,
        plan=plan.stored(),
        risk=risk,
        reason=reason,
        requested_by=requested_by,
        now=context.now,
        expiry_s=node_of(context.root).config[ApprovalSettings].expiry_s,
        about={"case_id": record.id, "ledger_id": record.entry_id, **(more or {})},
        name=name,
        subjects=subjects,
    )


def reason_of(record: CaseRecord, plan: Plan) -> str:
    lowered = "" if plan.effective.lowered is None else f" ({plan.effective.lowered})"
    return f"{record.rule_id}: {record.about.rule_condition}{lowered}"


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
