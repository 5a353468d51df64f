"""What the tools that ask do: a draft over the past, and proposals. One is worked out outside of a transaction, and
kept in one. `allowing` carries out what people allow. Must not: know HTTP, or approve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opsapp.approvals import resources as approvals
from opsapp.approvals.records import NewRequest, Proposer
from opsapp.approvals.resources import approvals_of
from opsapp.assistants.config import AssistantSettings
from opsapp.assistants.inputs import DraftOverPast, ProposeAction, ProposeRule, ProposeRun
from opsapp.assistants.resources import Asker, OpenProposal, desk_of
from opsapp.audit.engine import Actor, note
from opsapp.automations.engine import request_run
from opsapp.healing.interfaces import proposed as healing
from opsapp.healing.whatif import Rehearsed
from opsapp.lib.addresses import public_text
from opsapp.lib.problems import Conflict, Invalid
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS
from opsapp.wire.records import plain

from .deeds import (
    ActionPlan,
    PastInShort,
    ProposalOpened,
    ProposedDeed,
    RulePlan,
    RunPlan,
    WouldRunOn,
    digest_of,
    in_short,
)
from .rules import rule_of_action

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

DAYS = 7.0
MOST_FIRINGS = 50  # that one answer names
ORIGIN = "assistant"


def what_if(node: Node, given: DraftOverPast) -> Rehearsed:
    past = healing.rehearsed(node, given.rule, given.days, given.since, given.until)
    more = max(0, len(past.firings) - MOST_FIRINGS)
    return replace(
        past, firings=past.firings[more:], by_target=past.by_target[:MOST_FIRINGS], left_out=past.left_out + more
    )


def propose_action(node: Node, asker: Asker, given: ProposeAction) -> ProposalOpened:
    deed = node.transact(_action, given)
    return _proposed(node, asker, deed, given.reason)


def propose_rule(node: Node, asker: Asker, given: ProposeRule) -> ProposalOpened:
    draft = given.rule
    node.transact(healing.require_new, draft.id)
    risks = [ACTIONS[step.action].risk for step in draft.steps]
    order = ("low", "medium", "high")
    deed = ProposedDeed(
        draft.id or draft.condition,
        RulePlan(rule=replace(draft, enabled=True), condition=draft.condition),
        "admin",
        max(risks, key=order.index, default=None),
    )
    return _proposed(node, asker, deed, given.reason)


def propose_run(node: Node, asker: Asker, given: ProposeRun) -> ProposalOpened:
    return node.transact(_run, asker, given)


def _proposed(node: Node, asker: Asker, deed: ProposedDeed, reason: str) -> ProposalOpened:
    """What is dear is worked out only for a new proposal that has room."""
    known = node.transact(_known_or_room, asker, digest_of(deed.plan))
    if known is not None:
        return known
    rehearsed = healing.rehearsed(node, deed.plan.rule, DAYS, None, None)
    return node.transact(_ask, asker, deed, reason, rehearsed)


def _action(root: Root, given: ProposeAction) -> ProposedDeed:
    host = healing.host_called(root, given.host)
    if host is None:
        raise Invalid({"host": "there is no such host, or several have this name: use the id"})
    monitor = None if given.monitor is None else healing.monitor_called(root, given.monitor)
    if given.monitor is not None and monitor is None:
        raise Invalid({"monitor": "there is no such monitor"})
    subject = None if monitor is None else monitor.subject.partition(":")[2]
    action = ACTIONS[given.action]
    params = {name: value for name, value in given.params.items() if value is not None}
    plan = ActionPlan(
        action=given.action,
        params=action.check(params),
        host=host.agent_id,
        hostname=host.hostname,
        target=host.hostname if monitor is None else monitor.name,
        condition=given.condition,
        rollback=healing.undo_of(given.action),
        rule=rule_of_action(given, params, host.agent_id, subject),
    )
    return ProposedDeed(host.hostname, plan, "operator", action.risk)


def _ask(root: Root, asker: Asker, deed: ProposedDeed, reason: str, rehearsed: Rehearsed) -> ProposalOpened:
    plan, digest = deed.plan, digest_of(deed.plan)
    known = _known_or_room(root, asker, digest)
    if known is not None:
        return known
    past = in_short(rehearsed, healing.compared(root, plan.condition, plan.rule.targets))
    wanted = NewRequest(
        "proposal",
        deed.subject,
        plain(plan),
        public_text(reason),
        asker.title,
        node_of(root).config[AssistantSettings].expiry_s,
        {"assistant": plain(_proposer(asker, reason, deed.needs, past))},
        deed.risk,
        subjects=_subjects(plan),
    )
    request = approvals.request(root, wanted, now_of(root))
    return _opened(root, asker, request.__name__, digest, plan.what)


def _subjects(plan: ActionPlan | RulePlan) -> list[str]:
    """A rule that is added is about whatever comes to have its tags."""
    if isinstance(plan, RulePlan) or plan.rule.targets is None:
        return []
    return [f"agent:{plan.host}", *(f"monitor:{monitor_id}" for monitor_id in plan.rule.targets.monitors)]


def _run(root: Root, asker: Asker, given: ProposeRun) -> ProposalOpened:
    digest = digest_of(RunPlan(given.automation_id, given.inputs))
    known = _known_or_room(root, asker, digest)
    if known is not None:
        return known
    proposer = _proposer(asker, given.reason, "operator")
    run = request_run(
        root, now_of(root), given.automation_id, inputs=given.inputs, by=asker.title, origin=ORIGIN, proposed=proposer
    )
    request_id: str = run["request_id"]
    hosts = approvals_of(root)[request_id].plan["hosts"]
    opened = _opened(root, asker, request_id, digest, "run")
    return replace(opened, run_id=run["run_id"], would_run_on=tuple(WouldRunOn(target["host"]) for target in hosts))


def _proposer(asker: Asker, reason: str, needs: Any, past: PastInShort | None = None) -> Proposer:
    whatif = {} if past is None else plain(past)
    return Proposer(asker.name, asker.key_id, asker.username, asker.client, public_text(reason), needs, whatif)


def _known_or_room(root: Root, asker: Asker, digest: str) -> ProposalOpened | None:
    """The open proposal that is the same, or None. Conflict where there is no room."""
    desk = desk_of(root)
    folder = approvals_of(root)
    pending = {
        request_id
        for request_id in desk.open
        if (approval := folder.find(request_id)) is not None and approval.status == "pending"
    }
    same = next((request_id for request_id in pending if desk.open[request_id].digest == digest), None)
    if same is not None:
        return ProposalOpened(same, "pending", True, f"/approvals/{same}")
    most = node_of(root).config[AssistantSettings].open_proposals
    if sum(desk.open[request_id].key_id == asker.key_id for request_id in pending) >= most:
        raise Conflict(
            f"{most} proposals of this key wait for people. Wait until one is decided.", code="too_many_open"
        )
    desk.keep_open(pending)
    return None


def _opened(root: Root, asker: Asker, request_id: str, digest: str, what: str) -> ProposalOpened:
    desk_of(root).opened(request_id, OpenProposal(asker.key_id, digest))
    actor = Actor(asker.username, asker.ip)
    note(root, actor, f"assistant.propose_{what}", request_id, after=asker.plain())
    return ProposalOpened(request_id, "pending", False, f"/approvals/{request_id}")


Proposing = Callable[["Node", Asker, Any], ProposalOpened]
ASKING: Mapping[str, Proposing] = {
    "propose_action": propose_action,
    "propose_run": propose_run,
    "propose_rule": propose_rule,
}
