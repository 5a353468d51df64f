"""All agents in this node's memory, as plain facts: what lists, the sweep and the rooms above read on every turn.

An entry is read from the store when it was touched: by a commit of this node at once, by one of another node when its
event arrives. So five thousand agents cost five thousand objects once, not on every look.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, NamedTuple

from opsapp.agents.logic import usable_tools
from opsapp.agents.resources import Agent, AgentState, agents_of
from opsapp.runtime.events import Event, emit
from opsapp.runtime.node import Node
from opsapp.runtime.wakes import after_commit, node_of
from opsapp.tree.root import Root

KEY = "opsapp.agents.directory"
CHANGED = "_agent_changed"  # kept from /api/stream: an agent's record is not what it was


class Facts(NamedTuple):
    """One agent's record. Its `last_seen` is the store's; memory may know better."""

    id: str
    label: str
    hostname: str
    ip: str
    os: str
    version: str
    tags: tuple[str, ...]
    status: str
    last_seen: float | None
    node: str
    session: str
    clone_at: float | None
    usable: frozenset[str] | None


def facts_of(agent: Agent) -> Facts:
    state = agent.state
    return Facts(
        agent.id,
        agent.label,
        agent.hostname,
        agent.ip,
        agent.profile.get("os", ""),
        agent.profile.get("version", ""),
        agent.tags,
        state.status,
        state.last_seen,
        state.node,
        state.session,
        state.clone_at,
        usable_tools(agent.manifest.values if agent.manifest else None),
    )


class Directory:
    """One per node; read in any thread. The hub touches and never waits: whoever reads may do so for seconds, when the
    store is far away."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._facts: dict[str, Facts] = {}
        self._hosts: dict[str, set[str]] = {}
        self._touched: deque[tuple[str, float]] = deque()
        self._stale: dict[str, float] = {}  # since when
        self._loaded = False

    def touch(self, agent_id: str) -> None:
        self._touched.append((agent_id, time.monotonic()))

    def all(self, root: Root) -> list[Facts]:
        """Every agent; what was touched is read again in the caller's transaction."""
        with self._lock:
            if not self._loaded or self._stale or self._touched:
                self._refresh(root)
            return self.known()

    def known(self) -> list[Facts]:
        """Every agent as it was read last; costs nothing."""
        return list(self._facts.values())

    def shares_name(self, facts: Facts) -> bool:
        """Whether another agent reports the same hostname."""
        return bool(facts.hostname) and len(self._hosts.get(facts.hostname, ())) > 1

    def _refresh(self, root: Root) -> None:
        """A transaction that began before the touch, or one of the past, does not see what was changed: what it reads
        stays stale."""
        while self._touched:
            self._stale.update([self._touched.popleft()])
        began = getattr(root._p_jar.transaction_manager, "began", 0.0)
        agents = agents_of(root)
        for agent_id in self._stale if self._loaded else set(agents):
            agent = agents.get(agent_id)
            facts = None if agent is None else facts_of(agent)
            self._forget(agent_id)
            if facts is not None:
                self._facts[agent_id] = facts
                self._hosts.setdefault(facts.hostname, set()).add(agent_id)
        self._stale = {agent_id: at for agent_id, at in self._stale.items() if at >= began}
        self._loaded = self._loaded or began > 0.0

    def _forget(self, agent_id: str) -> None:
        known = self._facts.pop(agent_id, None)
        if known is not None:
            self._hosts[known.hostname].discard(agent_id)
            if not self._hosts[known.hostname]:
                del self._hosts[known.hostname]

    def on_event(self, event: Event) -> None:
        if event.kind == CHANGED:
            self.touch(event.data["agent_id"])


def directory_of(node: Node) -> Directory:
    return node.registry[KEY]


def prepare(node: Node) -> None:
    """Before anything is served."""
    directory = node.registry[KEY] = Directory()
    node.events.listen(directory.on_event)


def lives_elsewhere(node: Node, state: AgentState | Facts) -> bool:
    """Whether another node that is alive holds a session of it."""
    name = state.node.partition(":")[0]
    return bool(state.session) and name != node.name and name in node.nodes.alive("web")


def touched(root: Root, agent_id: str, **more: Any) -> None:
    """In the transaction that changes an agent's record: every node reads it again. `more` is for other listeners."""
    emit(root, CHANGED, {"agent_id": agent_id, **more})
    after_commit(root, directory_of(node_of(root._p_jar)).touch, agent_id)
