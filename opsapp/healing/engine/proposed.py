"""Rules and single actions that an assistant proposes and people allow.

A rule that is added has its trust to earn; one made for a single action stands at `approve`, and the yes to the
proposal answers the question that the pipeline asks (`healing.granted`).
"""

from __future__ import annotations

from opsapp.approvals.records import TimesHelped
from opsapp.healing.records import NewRule, RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import drop_rule, put_rule, require_free
from opsapp.healing.stages import execution
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.world import Host
from opsapp.healing.whatif import PastAsked, Rehearsed
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS

from . import rehearsals, rehearse
from .inventory import Member, inventory_of


def rehearsed(node: Node, draft: NewRule, days: float, since: float | None, until: float | None) -> Rehearsed:
    """Outside any transaction."""
    span = rehearsals.span_of(PastAsked(draft, days, since, until), node.clock.now())
    return rehearsals.rehearse(node, node.transact(rehearsals.policy_of, draft, span), span)


compared = rehearse.compare


def host_called(root: Root, name: str) -> Host | None:
    """The one that goes by this name or id."""
    inventory = inventory_of(root)
    member = inventory.agent_named(name)
    return None if member is None or member.agent_id is None else inventory.hosts.get(member.agent_id)


def monitor_called(root: Root, name: str) -> Member | None:
    monitors = [member for member in inventory_of(root) if not member.is_agent]
    return next((monitor for monitor in monitors if name in monitor.names), None)


def require_new(root: Root, rule_id: str | None) -> None:
    if rule_id is not None:
        require_free(root, rule_id)


def exists(root: Root, rule_id: str) -> bool:
    return rule_id in healing_of(root).rules


def record_of(root: Root, action: str, condition: str) -> TimesHelped:
    helped, total = healing_of(root).ledger.statistics(action, condition)
    return TimesHelped(total, helped)


def undo_of(action: str) -> str:
    return execution.rollback_plan(ACTIONS[action], None).how


def add(root: Root, rule_id: str, settings: RuleSettings, now: float) -> None:
    put_rule(root, rule_id, settings, source="api", now=now)


def add_once(root: Root, rule_id: str, settings: RuleSettings, now: float) -> None:
    """What it does was allowed, so it may ask."""
    add(root, rule_id, settings, now)
    state = healing_of(root).trust[rule_id]
    state.become(root, governor.promote(state.trust, "approve", now), cause="a proposal was approved", now=now)


def end_once(root: Root, rule_id: str) -> None:
    if exists(root, rule_id):
        drop_rule(root, rule_id)


def is_over(root: Root, case_id: str) -> bool:
    record = healing_of(root).book.record_of(case_id)
    return record is None or record.state == "closed"
