"""Gives agents the policies by which they may heal alone; again where something has changed. Under the lease.

What they healed alone becomes ledger entries: once, and only what they may speak of. Must not: decide which rules;
`stages.alone` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from opsapp.agents.engine import give_policies, policies_of, silences_of, terms_of
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.shares import GivenShare, Shares
from opsapp.healing.stages import alone, ending, ledger, reported
from opsapp.healing.stages.attempt import Tried
from opsapp.healing.stages.case import About, CaseRecord, Metrics, RuleEvent, opened
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.world import World
from opsapp.lib.problems import NotFound
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.secrets.chainkey import chain_key, keyed_draw
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS
from opsapp.wire.policies import PolicyTerms
from opsapp.wire.reports import AgentOutcome

from . import entries, notifications, trusted, world
from .context import PipelineContext
from .inventory import Inventory, Member
from .world import Holding

KEY = "opsapp.healing.offline"
AT_ONCE = 20
SILENT_INTERVALS = 3
TAKEN_INTERVALS = 8  # a host that is heard so long after it was given something has it


class GivenPolicies(NamedTuple):
    terms: PolicyTerms
    expires_at: float


NOTHING = GivenPolicies(PolicyTerms((), 0.0, 0), 0.0)


def step(node: Node, inventory: Inventory, failing: Holding) -> bool:
    """A few agents per transaction. First what each holds, for it counts before anything is given."""
    known = _known(node)
    agents = inventory.agents
    if not agents:
        return False
    for page in _pages([member for member in agents if member.agent_id not in known]):
        known.update(node.transact(read, page))
    shares = node.transact(draw, [member.item_id for member in agents])
    for page in _pages(agents):
        held = {member.item_id: known[member.item_id] for member in page if member.agent_id in known}
        known.update(node.transact(give, page, inventory, failing, held, shares))
    return False


def _pages(agents: list[Member]) -> Iterator[list[Member]]:
    return (agents[first : first + AT_ONCE] for first in range(0, len(agents), AT_ONCE))


def _known(node: Node) -> dict[str, GivenPolicies]:
    """Certain only while this node has the lease: nobody else gives policies then."""
    token = node.leases.held.get("healing")
    if node.registry.get(KEY, (None, {}))[0] != token:
        node.registry[KEY] = (token, {})
    known: dict[str, GivenPolicies] = node.registry[KEY][1]
    return known


def read(root: Root, agents: list[Member]) -> dict[str, GivenPolicies]:
    """What an older version gave is a share of the fleet's limit too."""
    present = {member.item_id: _read(root, member.item_id) for member in agents}
    holding = {agent_id: given for agent_id, given in present.items() if given is not None}
    shares, now = _shares(root), now_of(root)
    for agent_id, given in holding.items():
        if given.terms.policies and given.expires_at > now and agent_id not in shares.held:
            shares.give(agent_id, GivenShare(given.terms.budget, given.expires_at, now))
    return holding


def draw(root: Root, agent_ids: list[str]) -> dict[str, int]:
    """The lots are the same each time, and nobody can foresee them."""
    key, settings = chain_key(root), node_of(root).config[HealingSettings]

    def lot(agent_id: str) -> float | None:
        return keyed_draw(key, f"share {agent_id}")

    _shares(root).expire(now_of(root))
    return alone.drawn_shares(settings, agent_ids, lot)


def _shares(root: Root) -> Shares:
    healing = healing_of(root)
    if healing.shares is None:
        healing.shares = Shares()
    return healing.shares


def give(
    root: Root,
    agents: list[Member],
    inventory: Inventory,
    failing: Holding,
    held: Mapping[str, GivenPolicies],
    drawn: Mapping[str, int],
) -> dict[str, GivenPolicies]:
    """What each holds then. What an agent is known to hold is not read again: that would be most of the work."""
    leases.check(root, "healing")
    node, healing, shares = node_of(root), healing_of(root), _shares(root)
    now = node.clock.now()
    seen, life = world.build(root, now, inventory, failing), node.config[HealingSettings].offline_policies.expires_s
    holding: dict[str, GivenPolicies] = {}
    for member in agents:
        agent_id = member.item_id
        present = held.get(agent_id) or _read(root, agent_id)
        if present is None:
            continue
        share = shares.left(agent_id, drawn[agent_id], seen.settings.brake.max_heals_per_hour.fleet)
        if member.online:
            shares.taken(agent_id, now - TAKEN_INTERVALS * member.interval)
        else:
            share = min(share, present.terms.budget)
        terms = _terms(member, seen, share)
        if _is_news(present, terms, now, life, member.online):
            present = GivenPolicies(terms, now + life if member.online else present.expires_at)
            give_policies(root, agent_id, terms, expires_at=present.expires_at)
            shares.give(agent_id, GivenShare(terms.budget, present.expires_at, now))
            _remember(healing, agent_id, [policy.rule_id for policy in terms.policies])
        holding[agent_id] = present
    return holding


def _terms(member: Member, seen: World, share: int) -> PolicyTerms:
    """Without a share of the fleet's heals it is given nothing to do."""
    section = seen.settings.offline_policies
    host = seen.hosts[member.item_id]
    policies = alone.policies(host, member.names, member.tags, seen) if section.enabled and share else ()
    offline_after_s = section.offline_after_s or SILENT_INTERVALS * member.interval
    return PolicyTerms(tuple(policies), offline_after_s, share if policies else 0)


def _read(root: Root, agent_id: str) -> GivenPolicies | None:
    """None if the agent was deleted meanwhile."""
    try:
        bundle = policies_of(root, agent_id)
    except NotFound:
        return None
    return NOTHING if bundle is None else GivenPolicies(bundle.terms, bundle.expires_at)


def _is_news(present: GivenPolicies, terms: PolicyTerms, now: float, life: float, online: bool) -> bool:
    """The terms differ, or half of the time until they expire is over. A host that is away takes nothing: what it
    holds ends when it ends, so that its share can go to another."""
    if not online and present.expires_at <= now:
        return False
    if present is NOTHING:
        return bool(terms.policies)
    return present.terms != terms or bool(online and terms.policies and present.expires_at - now < life / 2)


def _remember(healing: Healing, agent_id: str, rule_ids: list[str]) -> None:
    """An agent can report only on rules that it was once given."""
    known = healing.given.get(agent_id, ())
    fresh = tuple(dict.fromkeys((*known, *rule_ids)))
    if fresh != known:
        healing.given[agent_id] = fresh


KEEP_S, KEEP_MOST = 86400.0, 500  # the steps that an agent is remembered to have taken alone
LOCAL = ("verified", "failed", "inconclusive", "rolled_back", "lost", "skipped")


def report_local(context: PipelineContext, outcome: AgentOutcome) -> None:
    """What is about another host, or an unknown rule, is recorded as refused."""
    name = f"{outcome.agent_id}:{outcome.outcome_id}"
    if name in context.healing.reported:  # the agent did not get our receipt, and sent it again
        return
    context.healing.reported[name] = context.now
    began = min(outcome.created_at, context.now)
    host = context.world.hosts.get(outcome.agent_id)
    target = outcome.target or (host.hostname if host else outcome.agent_id)
    own = host is not None and names_of(target)[-1] in (host.hostname, host.agent_id, host.label)
    known = outcome.rule_id in context.world.rules
    given = outcome.rule_id in context.healing.given.get(outcome.agent_id, ())
    about = About(
        "agent",
        outcome.condition,
        target if own else (host.hostname if host else outcome.agent_id),
        metrics=cast("Metrics", outcome.metrics_before),
        agent_id=outcome.agent_id,
    )
    case = opened(RuleEvent(outcome.rule_id, about, began))
    why = _refusal(context, outcome, own=own, known=known, given=given)
    if why is not None:
        entries.end_event(context, case, "suppressed", why, 1)
        return
    record = _record(context, outcome, case)
    if record.executed:
        trusted.suggest_after(context, record)
    if not outcome.escalated:  # the last step of its case
        said = str(record.outcome)
        if ending.tells(said, record.reason):
            about = About(record.source, record.condition, record.target)
            attempt = f"{record.action_type} by the agent of {names_of(record.target)[-1]} alone: {record.reason}"
            notifications.unresolved(context, record.rule_id, about, record, (attempt,))
        tried = [Tried(ledger.judged(record), None)] if record.executed else []
        trusted.count_case(context, tried, record, alone_at=began + outcome.duration_s)


def _refusal(context: PipelineContext, outcome: AgentOutcome, *, own: bool, known: bool, given: bool) -> str | None:
    """Why it is recorded as refused. What is taken for true uses up the host's budget, and nobody else's."""
    agent_id = outcome.agent_id
    if not own or not known or not given:
        why = "not its own host" if not own else "no such rule" if not known else "a rule that it was not given"
        return f"reported by {agent_id}: {why}"
    given_to_it = terms_of(context.root, agent_id, outcome.policy_version)
    terms = None if given_to_it is None else reported.Terms(*given_to_it)
    believed = [reported.BelievedStep(*step) for step in context.healing.alone.get(agent_id, ())]
    refusal = reported.refusal(outcome, terms, silences_of(context.root, agent_id), believed)
    if refusal is None:
        context.healing.alone[agent_id] = reported.noted(outcome, believed, keep_s=KEEP_S, most=KEEP_MOST)
    return refusal


def _record(context: PipelineContext, outcome: AgentOutcome, case: CaseRecord) -> LedgerRecord:
    reported = outcome.outcome if outcome.outcome in LOCAL else "inconclusive"
    trust, action_type = context.world.trust[outcome.rule_id], outcome.action_type or ""
    action = ACTIONS.get(action_type)
    kept = action is not None and action.snapshot is not None
    case_id = outcome.case_id or outcome.outcome_id
    entry = context.ledger.begin(
        context.root,
        replace(case, id=case_id, step=outcome.escalation_step),
        rule_id=outcome.rule_id,
        now=case.opened_at,
        trust_level=trust.current_level,
        action_type=action_type,
        action_params=ledger.params_text(outcome.action_params),
        action_success=outcome.action_success,
        risk=None if action is None else action.risk,
        snapshot_id=f"alone.{outcome.outcome_id}" if kept else None,  # as the agent calls it on its disk
        duration_s=outcome.duration_s,
        metrics_before=outcome.metrics_before,
        metrics_after=outcome.metrics_after,
        executed=outcome.executed and reported != "skipped",
        worse=outcome.worse,
    )
    return context.ledger.finish(
        context.root,
        entry.id,
        outcome=reported,
        reason=outcome.reason or "healed by the agent alone",
        now=context.now,
        events=0 if outcome.escalated else 1,
        verdict=outcome.verdict,
        rollback_status="rolled_back" if reported == "rolled_back" else None,
    )
