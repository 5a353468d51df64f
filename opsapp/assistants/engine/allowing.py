"""What a person's yes to a proposal sets off, in its transaction. A rule is added as an admin adds one. An action gets
a rule of its own (`rules`); asked by the pipeline, the yes is its answer, once, if it is about to do exactly what
was allowed. Must not: act."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opsapp.approvals.records import RequestAbout, TimesHelped
from opsapp.approvals.resources import Approval, approvals_of
from opsapp.assistants.config import AssistantSettings
from opsapp.assistants.resources import LEASE, Grant, desk_of, move
from opsapp.audit.engine import THE_SERVICE, Actor, note
from opsapp.healing.granted import Allowed
from opsapp.healing.interfaces import proposed as healing
from opsapp.healing.records import NewRule
from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root
from opsapp.wire.records import made

from .deeds import ACTION
from .rules import once

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

EVERY_S = 1.0
BOUND = ("action", "params", "host")  # of a plan: what was allowed is exactly this


class ProposalApproval:
    """The `proposal` kind of `approvals.engine.ApprovalKind`."""

    def gone(self, root: Root, approval: Approval) -> str | None:
        plan = approval.plan
        if plan["what"] == ACTION:
            return None if healing.host_called(root, plan["host"]) else "the host is gone"
        rule_id = plan["rule"].get("id")
        return f"there is a rule {rule_id} by now" if rule_id and healing.exists(root, rule_id) else None

    def own(self, root: Root, approval: Approval, name: str) -> str | None:
        return None

    def record(self, root: Root, approval: Approval) -> TimesHelped | None:
        plan = approval.plan
        return healing.record_of(root, plan["action"], plan["condition"]) if plan["what"] == ACTION else None

    def decided(self, root: Root, approval: Approval) -> None:
        if approval.status == "approved":
            (_allow_once if approval.plan["what"] == ACTION else _add_rule)(root, approval)


def _add_rule(root: Root, approval: Approval) -> None:
    settings = made(NewRule, approval.plan["rule"])
    rule_id = settings.id or new_id()
    healing.add(root, rule_id, settings, now_of(root))
    _note(root, approval, "healing.rule.create", rule_id)


def _allow_once(root: Root, approval: Approval) -> None:
    node, rule_id = node_of(root), once(approval.__name__)
    now, by = node.clock.now(), f"Proposed by the {approval.requested_by}, allowed by {approval.decided_by}, once."
    settings = made(NewRule, {**approval.plan["rule"], "description": by})
    healing.add_once(root, rule_id, settings, now)
    until = now + node.config[AssistantSettings].act_within_s
    desk_of(root).grant(rule_id, Grant(approval.__name__, until))
    _note(root, approval, "assistant.action.begin", rule_id)


def _note(root: Root, approval: Approval, action: str, rule_id: str) -> None:
    known = {"request_id": approval.__name__, "requested_by": approval.requested_by}
    note(root, Actor(approval.decided_by, None), action, rule_id, after=known)


def allowed(root: Root, rule_id: str, case_id: str, plan: JsonObject) -> Allowed | None:
    """The `Allowance` of the pipeline: its question uses the yes up, whatever comes of it."""
    desk = desk_of(root)
    grant = desk.grants.get(rule_id)
    if grant is None or grant.case_id is not None or grant.until <= now_of(root):
        return None
    proposal = approvals_of(root).find(grant.request_id)
    if proposal is None or any(proposal.plan[name] != plan.get(name) for name in BOUND):
        return None
    desk.grant(rule_id, grant._replace(case_id=case_id))
    about: RequestAbout = {"proposal": grant.request_id, "assistant": proposal.about["assistant"]}
    return Allowed(proposal.requested_by, about, proposal.decided_by or "", proposal.comment)


def end_what_is_over(root: Root, now: float) -> bool:
    """Their case is closed, or their time is over before they began. Whether there were any."""
    desk = desk_of(root)
    ended = [rule_id for rule_id, grant in desk.grants.items() if _is_over(root, grant, now)]
    for rule_id in ended:
        grant = desk.grants[rule_id]
        healing.end_once(root, rule_id)
        desk.end(rule_id)
        result: JsonObject = {"request_id": grant.request_id, "case_id": grant.case_id}
        note(root, THE_SERVICE, "assistant.action.end", rule_id, after=result)
    return bool(ended)


def _is_over(root: Root, grant: Grant, now: float) -> bool:
    return grant.until <= now if grant.case_id is None else healing.is_over(root, grant.case_id)


def start(node: Node) -> None:
    node.clock_steps.carry(LEASE, "allowed once", move)
    node.supervisor.add(
        "assistants-end",
        lambda: node.transact(end_what_is_over, node.clock.now()),
        every=EVERY_S,
        lease=LEASE,
        look=QueueLook(node, lambda root, _now: desk_of(root).grants),
    )
