"""Handing out what hosts may heal alone: looked at under the lease, given anew where something has changed.

The room of agents signs and carries it. Must not: decide which rules; `stages.alone` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opsapp.agents.engine import give_policies, policies_of
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages import alone
from opsapp.lib.problems import NotFound
from opsapp.runtime import leases
from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root

from . import world
from .reach import Place, Places

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

AT_ONCE = 20
SILENT_INTERVALS = 3


def step(node: Node, places: Places, failing: Mapping[str, Any]) -> bool:
    """Every agent, a few per transaction."""
    agents = [place for place in places if place.is_agent and place.agent_id]
    for first in range(0, len(agents), AT_ONCE):
        node.transact(give, agents[first : first + AT_ONCE], places, failing)
    return False


def give(root: Root, agents: list[Place], places: Places, failing: Mapping[str, Any]) -> int:
    """Give each of these agents what it may do now; how many were given something new."""
    leases.check(root, "healing")
    node, healing = node_of(root._p_jar), healing_of(root)
    now = node.clock.now()
    seen, section = world.build(root, now, places, failing), node.config["healing"]["offline_policies"]
    hosts = sum(1 for place in places if place.is_agent)
    given = 0
    for place in agents:
        host = seen.hosts[str(place.agent_id)]
        policies = alone.policies(host, place.names, place.tags, seen) if section["enabled"] else []
        terms: dict[str, Any] = {
            "policies": policies,
            "offline_after_s": section["offline_after_s"] or SILENT_INTERVALS * place.interval,
            "budget": alone.budget_share(seen.settings, hosts),
        }
        if _is_news(root, place, terms, now, section["expires_s"]):
            give_policies(root, host.agent_id, **terms, expires_at=now + section["expires_s"])
            _remember(healing, host.agent_id, [policy["rule_id"] for policy in policies])
            given += 1
    return given


def _is_news(root: Root, place: Place, terms: Mapping[str, Any], now: float, life: float) -> bool:
    """Whether it differs from what the agent was given, or that has lived through half of its time."""
    try:
        present = policies_of(root, str(place.agent_id))
    except NotFound:  # deleted meanwhile
        return False
    if present is None:
        return bool(terms["policies"])
    same = all(present[name] == value for name, value in terms.items())
    return not same or bool(terms["policies"] and present["expires_at"] - now < life / 2)


def _remember(healing: Healing, agent_id: str, rule_ids: list[str]) -> None:
    """Only on rules that it was once given can an agent report."""
    known = healing.given.get(agent_id, ())
    fresh = tuple(dict.fromkeys((*known, *rule_ids)))
    if fresh != known:
        healing.given[agent_id] = fresh
