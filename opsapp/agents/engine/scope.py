"""Agents as what a maintenance window may cover (an `IScopeKind`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from opsapp.agents.resources import Agent, agents_of
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root

from .directory import AgentFacts, directory_of
from .records import AgentStatuses, host_name


class AgentScope:
    def exists(self, root: Root, item_id: str) -> bool:
        return item_id in agents_of(root)

    def named(self, root: Root, name: str) -> set[str]:
        """Ids of agents with this id, hostname or label. It reads no store."""
        agents = directory_of(node_of(root)).all(root)
        return {facts.id for facts in agents if name in (facts.id, facts.hostname, facts.label)}

    def standing(self, root: Root, ids: Collection[str] | None) -> tuple[int, list[str]]:
        node = node_of(root)
        agents = [facts for facts in directory_of(node).all(root) if ids is None or facts.id in ids]
        statuses = AgentStatuses(node)
        heard = [facts for facts in agents if facts.status != "pending"]
        return len(agents), [host_name(facts) for facts in heard if not statuses.is_online(facts)]

    def catch_up(self, root: Root) -> None:
        directory_of(node_of(root)).catch_up(root)

    def tagged(self, node: Node) -> Iterator[tuple[str, Collection[str]]]:
        return ((facts.id, facts.tags) for facts in directory_of(node).all_known())

    def tags_of(self, node: Node, item_id: str) -> Collection[str] | None:
        facts = directory_of(node).known_facts(item_id)
        return None if facts is None else facts.tags

    def names(self, root: Root) -> Iterator[tuple[str, list[str]]]:
        directory = directory_of(node_of(root))
        if directory.stands_for(root):
            known: Iterable[tuple[str, Agent | AgentFacts]] = [(facts.id, facts) for facts in directory.all_known()]
        else:
            known = agents_of(root).items()
        for agent_id, agent in known:
            yield agent_id, [name for name in (agent.label, agent.hostname) if name]
