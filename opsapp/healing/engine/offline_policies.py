"""Gives agents the policies by which they may heal alone. Under the lease; again where something has changed.

The room of agents signs and carries it. Must not: decide which rules; `stages.alone` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from opsapp.agents.engine import give_policies, policies_of
from opsapp.healing.config import HealingSettings
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages import alone
from opsapp.lib.problems import NotFound
from opsapp.runtime import leases
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.policies import PolicyTerms

from . import world
from .failures import Holding
from .inventory import Inventory, Member

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

KEY = "opsapp.healing.offline"
AT_ONCE = 20
SILENT_INTERVALS = 3


class GivenPolicies(NamedTuple):
    """What an agent was given last."""

    terms: PolicyTerms
    expires_at: float


NOTHING = GivenPolicies(PolicyTerms((), 0.0, 0), 0.0)


def step(node: Node, inventory: Inventory, failing: Holding) -> bool:
    """Look at every agent, a few per transaction."""
    known = _known(node)
    agents = [member for member in inventory if member.is_agent and member.agent_id]
    for first in range(0, len(agents), AT_ONCE):
        page = agents[first : first + AT_ONCE]
        held = {str(member.agent_id): known[str(member.agent_id)] for member in page if member.agent_id in known}
        known.update(node.transact(give, page, inventory, failing, held))
    return False


def _known(node: Node) -> dict[str, GivenPolicies]:
    """What each agent holds. It is certain only while this node has the lease: nobody else gives policies then."""
    token = node.leases.held.get("healing")
    if node.registry.get(KEY, (None, {}))[0] != token:
        node.registry[KEY] = (token, {})
    known: dict[str, GivenPolicies] = node.registry[KEY][1]
    return known


def give(
    root: Root, agents: list[Member], inventory: Inventory, failing: Holding, held: Mapping[str, GivenPolicies]
) -> dict[str, GivenPolicies]:
    """Give each of these agents what it may do now; what each holds then. What an agent is known to hold is not read
    from the store again: with thousands of agents that would be most of the work."""
    leases.check(root, "healing")
    node, healing = node_of(root), healing_of(root)
    now = node.clock.now()
    seen, section = world.build(root, now, inventory, failing), node.config[HealingSettings].offline_policies
    hosts = sum(1 for member in inventory if member.is_agent)
    holding: dict[str, GivenPolicies] = {}
    for member in agents:
        host = seen.hosts[str(member.agent_id)]
        policies = alone.policies(host, member.names, member.tags, seen) if section.enabled else ()
        offline_after_s = section.offline_after_s or SILENT_INTERVALS * member.interval
        terms = PolicyTerms(tuple(policies), offline_after_s, alone.budget_share(seen.settings, hosts))
        present = held.get(host.agent_id) or _read(root, host.agent_id)
        if present is not None and _is_news(present, terms, now, section.expires_s):
            present = GivenPolicies(terms, now + section.expires_s)
            give_policies(root, host.agent_id, terms, expires_at=present.expires_at)
            _remember(healing, host.agent_id, [policy.rule_id for policy in policies])
        if present is not None:
            holding[host.agent_id] = present
    return holding


def _read(root: Root, agent_id: str) -> GivenPolicies | None:
    """None if the agent was deleted meanwhile."""
    try:
        bundle = policies_of(root, agent_id)
    except NotFound:
        return None
    return NOTHING if bundle is None else GivenPolicies(bundle.terms, bundle.expires_at)


def _is_news(present: GivenPolicies, terms: PolicyTerms, now: float, life: float) -> bool:
    """Whether these terms differ from what the agent has, or half of the time until it expires is over."""
    if present is NOTHING:
        return bool(terms.policies)
    return present.terms != terms or bool(terms.policies and present.expires_at - now < life / 2)


def _remember(healing: Healing, agent_id: str, rule_ids: list[str]) -> None:
    """An agent can report only on rules that it was once given."""
    known = healing.given.get(agent_id, ())
    fresh = tuple(dict.fromkeys((*known, *rule_ids)))
    if fresh != known:
        healing.given[agent_id] = fresh
