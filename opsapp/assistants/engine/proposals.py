"""What the tools that ask do: a draft over the past, and proposals, which are requests that people decide.

A proposal is worked out first, outside of a transaction, and kept in one. Nothing is done here but asking: what people
allow, `allowing` carries out. Must not: know HTTP, or approve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opsapp.approvals import resources as approvals
from opsapp.approvals.resources import approvals_of
from opsapp.assistants.config import AssistantSettings
from opsapp.assistants.records import ACTION, RULE, ProposedDeed, condensed, digest_of
from opsapp.assistants.resources import Asker, OpenProposal, desk_of
from opsapp.audit.engine import Actor, note
from opsapp.automations.engine import request_run
from opsapp.healing.interfaces import proposed as healing
from opsapp.healing.records import NewRule, RuleTargets
from opsapp.lib.addresses import public_text
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS
from opsapp.wire.records import made, plain

from .rules import rule_of_action

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

DAYS = 7.0
MOST_FIRINGS = 50  # that one answer names
ORIGIN = "assistant"


def what_if(node: Node, given: JsonObject) -> JsonObject:
    """The same as `POST /api/healing/whatif`, of many firings the newest."""
    draft = made(NewRule, given["rule"])
    told = plain(healing.rehearsed(node, draft, given["days"], given["from"], given["to"]))
    firings: Any = told["firings"]
    targets: Any = told["by_target"]
    left_out: Any = told["left_out"]
    more = max(0, len(firings) - MOST_FIRINGS)
    return {**told, "firings": firings[more:], "by_target": targets[:MOST_FIRINGS], "left_out": left_out + more}


def propose_action(node: Node, asker: Asker, given: JsonObject) -> JsonObject:
    deed = node.transact(_action, given)
    return _proposed(node, asker, deed, given["reason"])


def propose_rule(node: Node, asker: Asker, given: JsonObject) -> JsonObject:
    draft = made(NewRule, given["rule"])
    node.transact(healing.require_new, draft.id)
    rule = {**plain(draft, NewRule), "enabled": True}
    risks = [ACTIONS[step.action].risk for step in draft.steps]
    order = ("low", "medium", "high")
    deed = ProposedDeed(
        RULE,
        draft.id or draft.condition,
        {"what": RULE, "rule": rule, "condition": draft.condition},
        "admin",
        max(risks, key=order.index, default=None),
    )
    return _proposed(node, asker, deed, given["reason"])


def propose_run(node: Node, asker: Asker, given: JsonObject) -> JsonObject:
    return node.transact(_run, asker, given)


def _proposed(node: Node, asker: Asker, deed: ProposedDeed, reason: str) -> JsonObject:
    """What is dear is worked out only where there is room for the proposal, and it is a new one."""
    known = node.transact(_known_or_room, asker, deed.digest)
    if known is not None:
        return known
    draft = made(NewRule, deed.plan["rule"])
    rehearsed = plain(healing.rehearsed(node, draft, DAYS, None, None))
    return node.transact(_ask, asker, deed, reason, rehearsed)


def _action(root: Root, given: JsonObject) -> ProposedDeed:
    """Bound to one host, or to one monitor and the host that the action runs on."""
    host = healing.host_called(root, given["host"])
    if host is None:
        raise Invalid({"host": "there is no such host, or several have this name: use the id"})
    monitor = None if given["monitor"] is None else healing.monitor_called(root, given["monitor"])
    if given["monitor"] is not None and monitor is None:
        raise Invalid({"monitor": "there is no such monitor"})
    subject = None if monitor is None else monitor.subject.partition(":")[2]
    rule = rule_of_action(given, host.agent_id, subject)
    plan: JsonObject = {
        "what": ACTION,
        "action": given["action"],
        "params": ACTIONS[given["action"]].check(rule["action"]["params"]),  # with defaults, as the plan has them
        "host": host.agent_id,
        "hostname": host.hostname,
        "target": host.hostname if monitor is None else monitor.name,
        "condition": given["condition"],
        "rollback": healing.undo_of(given["action"]),
        "rule": rule,
    }
    return ProposedDeed(ACTION, host.hostname, plan, "operator", ACTIONS[given["action"]].risk)


def _ask(root: Root, asker: Asker, deed: ProposedDeed, reason: str, rehearsed: JsonObject) -> JsonObject:
    known = _known_or_room(root, asker, deed.digest)
    if known is not None:
        return known
    now, targets = node_of(root).clock.now(), made(NewRule, deed.plan["rule"]).targets
    holds = _holds(root, deed.plan["condition"], targets)
    about = {"assistant": _about(asker, reason, deed.needs, condensed(rehearsed, holds))}
    request = approvals.request(
        root,
        kind="proposal",
        subject=deed.subject,
        plan=deed.plan,
        reason=public_text(reason),
        risk=deed.risk,
        requested_by=asker.title,
        now=now,
        expiry_s=node_of(root).config[AssistantSettings].expiry_s,
        about=about,
    )
    return _opened(root, asker, request.__name__, deed.digest, deed.what)


def _holds(root: Root, condition: str, targets: RuleTargets | None) -> JsonObject:
    now = healing.compared(root, condition, targets)
    return {"holds": now.holds, "false": now.false, "unknown": now.unknown}


def _run(root: Root, asker: Asker, given: JsonObject) -> JsonObject:
    digest = digest_of({"what": "run", "automation_id": given["automation_id"], "inputs": given["inputs"]})
    known = _known_or_room(root, asker, digest)
    if known is not None:
        return known
    now = node_of(root).clock.now()
    about = _about(asker, given["reason"], "operator", {})
    run = request_run(
        root, now, given["automation_id"], inputs=given["inputs"], by=asker.title, origin=ORIGIN, proposed=about
    )
    request_id: str = run["request_id"]
    hosts = approvals_of(root)[request_id].plan["hosts"]
    names: list[JsonObject] = [{"host": target["host"]} for target in hosts]
    return {**_opened(root, asker, request_id, digest, "run"), "run_id": run["run_id"], "would_run_on": names}


def _about(asker: Asker, reason: str, needs: str, whatif: JsonObject) -> JsonObject:
    return {**asker.plain(), "reason": public_text(reason), "needs": needs, "whatif": whatif}


def _known_or_room(root: Root, asker: Asker, digest: str) -> JsonObject | None:
    """The open proposal that is the same; None where there is none. Conflict where there is no room for another."""
    desk = desk_of(root)
    folder = approvals_of(root)
    pending = {
        request_id
        for request_id in desk.open
        if (approval := folder.find(request_id)) is not None and approval.status == "pending"
    }
    same = next((request_id for request_id in pending if desk.open[request_id].digest == digest), None)
    if same is not None:
        return {"request_id": same, "status": "pending", "already": True, "page": f"/approvals/{same}"}
    most = node_of(root).config[AssistantSettings].open_proposals
    if sum(desk.open[request_id].key_id == asker.key_id for request_id in pending) >= most:
        raise Conflict(
            f"{most} proposals of this key wait for people. Wait until one is decided.", code="too_many_open"
        )
    desk.keep_open(pending)
    return None


def _opened(root: Root, asker: Asker, request_id: str, digest: str, what: str) -> JsonObject:
    desk_of(root).opened(request_id, OpenProposal(asker.key_id, digest))
    actor = Actor(asker.username, asker.ip)
    note(root, actor, f"assistant.propose_{what}", request_id, after=asker.plain())
    return {"request_id": request_id, "status": "pending", "already": False, "page": f"/approvals/{request_id}"}


Proposing = Callable[["Node", Asker, JsonObject], JsonObject]
ASKING: Mapping[str, Proposing] = {
    "propose_action": propose_action,
    "propose_run": propose_run,
    "propose_rule": propose_rule,
}
