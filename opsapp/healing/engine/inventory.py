"""The agents and monitors that healing knows: everything that rules look at and that a heal can run on;
and how healing reaches them: one interface, registered as a utility by the fleet (or by a test).

Commands are durable records: `send` writes one in the caller's transaction, together with the intent, and the agents
room delivers it at most once. So no effect can happen without its intent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zope.interface import Interface

from opsapp.healing.logic.rules import in_scope, names_of
from opsapp.healing.records import RuleTargets
from opsapp.healing.stages.world import Host
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.heals import HostAnswer

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


class Member(NamedTuple):
    """An agent or a monitor as rules see it. `subject` is its key in the live view."""

    subject: str  # agent:ID or monitor:ID
    name: str  # hostname, or the monitor's name: what events call it
    agent_id: str | None  # where a heal for it runs
    names: tuple[str, ...] = ()  # everything that it may be called by, itself included
    tags: tuple[str, ...] = ()
    interval: float = 15.0  # between its reports or checks
    online: bool = True  # of a monitor: not paused
    usable: frozenset[str] | None = None
    ambiguous: bool = False
    unheard: bool = False  # not online, and nobody can know yet whether it is away

    @property
    def is_agent(self) -> bool:
        return self.subject.startswith("agent:")

    def is_among(self, targets: RuleTargets | None) -> bool:
        """Whether a rule with these targets is about it: without any it is about everything."""
        if targets is None:
            return True
        return in_scope(self.names, self.tags, targets.agents if self.is_agent else targets.monitors)


class Inventory(list[Member]):
    """All agents and monitors at one moment. It never changes, so each index is made once. As long as no member
    changes, the same object is used."""

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return {member.agent_id: _host(member) for member in self if member.is_agent and member.agent_id}

    @cached_property
    def monitors(self) -> dict[str, str]:
        """The subjects of all monitors that are not paused, by each of their names."""
        looked_at = [member for member in self if not member.is_agent and member.online]
        return {name: member.subject for member in looked_at for name in (member.name, *member.names)}

    @cached_property
    def away(self) -> frozenset[str]:
        """What hosts are called that are known to be away. A name that another host of them has too is not away."""
        heard: set[str] = set()
        silent: set[str] = set()
        for member in self:
            if member.is_agent:
                (heard if member.online or member.unheard else silent).update((member.name, *member.names))
        return frozenset(silent - heard)

    @cached_property
    def hosts_away(self) -> frozenset[str]:
        """The hostnames among them: what events call the hosts."""
        return self.away & {member.name for member in self if member.is_agent}

    def measuring(self, target: str) -> tuple[str, ...]:
        """The subjects that measure a target: monitors and agents with its name, else with the name of its host."""
        return self._subjects.get(target) or self._subjects.get(target.partition("/")[0], ())

    @cached_property
    def _subjects(self) -> dict[str, tuple[str, ...]]:
        """The subjects that are online, by each of their names."""
        by_name: dict[str, list[str]] = {}
        for member in self:
            for name in {member.name, *member.names} if member.online else ():
                by_name.setdefault(name, []).append(member.subject)
        return {name: tuple(subjects) for name, subjects in by_name.items()}

    def named(self, target: str) -> Member | None:
        """The agent or monitor that a target is, or is on."""
        return self._by_name.get(target.partition("/")[0])

    def agent_named(self, name: str) -> Member | None:
        """The one agent that goes by this name. What two go by is nobody's name; an id never is."""
        own, called = self.by_subject.get(f"agent:{name}"), self._agents_by_name.get(name, [])
        if own is not None:
            return own
        return called[0] if len(called) == 1 and not called[0].ambiguous else None

    @cached_property
    def _agents_by_name(self) -> dict[str, list[Member]]:
        agents: dict[str, list[Member]] = {}
        for member in self:
            for name in member.names if member.is_agent else ():
                agents.setdefault(name, []).append(member)
        return agents

    def in_graph(self, target: str) -> str:
        """What a target is called in the graph, which may be named by an id."""
        member, (_, slash, part) = self.named(target), target.partition("/")
        return target if member is None else f"{member.name}{slash}{part}"

    @cached_property
    def _by_name(self) -> dict[str, Member]:
        return {name: member for member in reversed(self) for name in member.names}

    def monitors_of(self, names: Collection[str], below: Collection[str]) -> list[Member]:
        """Monitors that run on one of these hosts or go by one of these names, or by one of those that depend on them,
        in order."""
        members = dict[int, Member]()
        for name in names:
            members.update(self._monitors_on.get(name, ()))
        for name in {*names, *below}:
            members.update(self._monitors_called.get(name, ()))
        return [members[place] for place in sorted(members)]

    @cached_property
    def _monitors_on(self) -> dict[str, list[tuple[int, Member]]]:
        """(their place, monitor) by the id of the agent on which they run."""
        known = defaultdict[str, list[tuple[int, Member]]](list)
        for place, member in enumerate(self):
            if not member.is_agent and member.agent_id:
                known[member.agent_id].append((place, member))
        return known

    @cached_property
    def _monitors_called(self) -> dict[str, list[tuple[int, Member]]]:
        known = defaultdict[str, list[tuple[int, Member]]](list)
        for place, member in enumerate(self):
            for name in () if member.is_agent else member.names:
                known[name].append((place, member))
        return known

    @cached_property
    def called(self) -> frozenset[str]:
        return frozenset(member.name for member in self)

    def holds(self, target: str) -> bool:
        """Whether the target of an event, or its host, exists (still)."""
        return not self.called.isdisjoint(names_of(target))

    @cached_property
    def by_subject(self) -> dict[str, Member]:
        return {member.subject: member for member in self}


def _host(member: Member) -> Host:
    return Host(
        str(member.agent_id),
        member.name,
        label=next((name for name in member.names if name not in (member.name, member.agent_id)), ""),
        online=member.online,
        usable=member.usable,
        ambiguous=member.ambiguous,
    )


class IFleetAccess(Interface):
    """The utility's interface."""


class FleetAccess(Protocol):
    """All methods but `recheck` run in the caller's transaction and do not wait."""

    def inventory(self, root: Root) -> Inventory:
        """Every agent and monitor; the same object as long as none has changed."""

    def send(
        self, root: Root, agent_id: str, kind: str, params: JsonObject, *, timeout: int | None, expiry: float, by: str
    ) -> str:
        """Store a command for an agent; its id."""

    def answer(self, root: Root, agent_id: str, command_id: str) -> HostAnswer | None:
        """The command's final answer, or None while it is open."""

    def intervened(self, root: Root, subject: str, agent_id: str | None, since: float) -> float | None:
        """When a person or a run has first done something there, or has taken care of it, from then on; None: nobody
        has, as far as the service knows."""

    def knows(self, root: Root, subject: str) -> bool:
        """Whether the agent or monitor exists (still)."""

    def recall(self, root: Root, agent_id: str, command_id: str) -> bool:
        """Withdraw a command that was not delivered yet; whether it could be withdrawn."""

    def doubtful(self, node: Node, subject: str) -> bool:
        """Whether a monitor's last check failed, and the failure has still to be confirmed."""

    def recheck(self, node: Node, subject: str, done: Callable[[float], None]) -> None:
        """On the hub: start a check of a monitor, or ask an agent for a report. Once the result is there, `done` gets
        the time at which it began. Without a result `done` is not called."""


def fleet_access(root: Root) -> FleetAccess:
    return node_of(root).registry.getUtility(IFleetAccess)
