"""Which tags hosts have, for what teams may see (`web.sight`); what hangs below a host has the same."""

from __future__ import annotations

from collections.abc import Collection

from opsapp.agents.resources import Agent
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node, node_of
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root

from .directory import directory_of


def tags_of_agent(agent: Agent) -> Collection[str]:
    return agent.tags


def tags_of_event(node: Node, event: Event) -> Collection[str]:
    facts = directory_of(node).known_facts(event.data.get("agent_id", ""))
    return () if facts is None else facts.tags


def seen_agents(root: Root, sight: Sight) -> Collection[str]:
    """The ids of the hosts that these rights see; from memory."""
    return {facts.id for facts in directory_of(node_of(root)).all(root) if sight.sees(facts.tags)}
