"""All agents in this node's memory, as plain facts: what lists, the sweep and the rooms above read on every turn.

A projection: an entry is read from the store when an event says that it was changed. So five thousand agents cost five
thousand objects once, not on every look.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from opsapp.agents.logic import usable_tools
from opsapp.agents.resources import Agent, AgentState, agents_of
from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.events import Event, emit
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.projection import Projection
from opsapp.tree.damage import load
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root

KEY = "opsapp.agents.directory"
CHANGED = "_agent_changed"  # kept from /api/stream: an agent's record is not what it was


class AgentFacts(NamedTuple):
    """What is known of an agent; `last_seen` is the store's, and memory may know better."""

    id: str
    label: str
    hostname: str
    ip: str
    os: str
    version: str
    tags: tuple[str, ...]
    status: str
    changed_at: float
    last_seen: float | None
    silent_at: float | None
    stopped_at: float | None
    node: str
    session: str
    clone_at: float | None
    usable: frozenset[str] | None
    series: Mapping[str, int]  # numbers, by the name of what is measured


def facts_of(agent: Agent) -> AgentFacts:
    state = agent.state
    return AgentFacts(
        agent.id,
        agent.label,
        agent.hostname,
        agent.ip,
        agent.profile.get("os", ""),
        agent.profile.get("version", ""),
        agent.tags,
        state.status,
        state.changed_at,
        state.last_seen,
        state.silent_at,
        state.stopped_at,
        state.node,
        state.session,
        state.clone_at,
        usable_tools(agent.manifest.values if agent.manifest else None),
        agent.series,
    )


class Directory(Projection[AgentFacts]):
    """One per node; read in any thread."""

    kind = "agent"

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._facts: dict[str, AgentFacts] = {}
        self._hosts: dict[str, set[str]] = {}
        self._labels: dict[str, set[str]] = {}  # of those that were heard
        self.on_change: Callable[[str, AgentFacts | None], None] = lambda agent_id, facts: None

    def all(self, root: Root) -> list[AgentFacts]:
        """All agents as the transaction behind `root` sees them, or newer; as they were read last where it has
        written."""
        self.catch_up(root)
        return self.all_known()

    def get(self, root: Root, agent_id: str) -> AgentFacts | None:
        self.catch_up(root)
        return self._facts.get(agent_id)

    def all_known(self) -> list[AgentFacts]:
        """All agents as they were read last; costs nothing."""
        return list(self._facts.values())

    def shares_name(self, facts: AgentFacts) -> bool:
        """Whether another agent reports its hostname too, or has it as its label or its id."""
        name = facts.hostname
        others = {name} & self._facts.keys() | self._hosts.get(name, set()) | self._labels.get(name, set())
        return bool(name and others - {facts.id})

    def concerns(self, event: Event) -> str | None:
        return event.data["agent_id"] if event.kind == CHANGED else None

    def ids(self, root: Root) -> Iterable[str]:
        return agents_of(root).known_names()

    def read(self, root: Root, item_id: str) -> AgentFacts | None:
        agent = agents_of(root).get(item_id)
        return None if agent is None else facts_of(load(agent))

    def known(self) -> Collection[str]:
        return tuple(self._facts)

    def known_facts(self, agent_id: str) -> AgentFacts | None:
        """The agent as it was read last."""
        return self._facts.get(agent_id)

    def silent_at(self, agent_id: str) -> float | None:
        """When a session of it ended because nothing was heard any more."""
        facts = self._facts.get(agent_id)
        return facts.silent_at if facts else None

    def name_of(self, item_id: str) -> str:
        facts = self._facts.get(item_id)
        return facts.label or facts.hostname if facts else ""

    def apply(self, items: Mapping[str, AgentFacts | None]) -> None:
        for agent_id, facts in items.items():
            self._forget(agent_id)
            if facts is not None:
                self._facts[agent_id] = facts
                self._hosts.setdefault(facts.hostname, set()).add(agent_id)
                if facts.status != "pending":
                    self._labels.setdefault(facts.label, set()).add(agent_id)
            self.on_change(agent_id, facts)

    def _forget(self, agent_id: str) -> None:
        known = self._facts.pop(agent_id, None)
        if known is not None:
            _drop(self._hosts, known.hostname, agent_id)
            _drop(self._labels, known.label, agent_id)


def _drop(ids: dict[str, set[str]], name: str, agent_id: str) -> None:
    left = ids.get(name, set()) - {agent_id}
    if left:
        ids[name] = left
    else:
        ids.pop(name, None)


def directory_of(node: Node) -> Directory:
    return node.registry[KEY]


def prepare(node: Node) -> None:
    """Called before anything is served."""
    directory = node.registry[KEY] = Directory(node.clock)
    node.projections.add("agents", directory)


def lives_elsewhere(node: Node, state: AgentState | AgentFacts) -> bool:
    """Whether another node that is alive holds a session of it."""
    if not state.session:
        return False
    name = state.node.partition(":")[0]
    return name != node.name and name in node.nodes.alive("web")


def touched(root: Root, agent_id: str, **more: Any) -> None:
    """Call it in the transaction that changes an agent's record: every node then reads it again. `more` is for
    listeners."""
    emit(root, CHANGED, {"agent_id": agent_id, **more})


# ---- which tags hosts have, for what teams may see (`web.sight`); what hangs below a host has the same
def tags_of_agent(agent: Agent) -> Collection[str]:
    return agent.tags


def tags_of_event(node: Node, event: Event) -> Collection[str]:
    return agent_tags(node, event.data.get("agent_id", ""))


def agent_tags(node: Node, agent_id: str) -> Collection[str]:
    """From memory, as it was caught up last."""
    facts = directory_of(node).known_facts(agent_id)
    return () if facts is None else facts.tags


def catch_up_agents(root: Root) -> None:
    directory_of(node_of(root)).catch_up(root)


def seen_agents(root: Root, sight: Sight) -> Collection[str]:
    """The ids of the agents that `sight` sees, from memory."""
    return {facts.id for facts in directory_of(node_of(root)).all(root) if sight.sees(facts.tags)}
