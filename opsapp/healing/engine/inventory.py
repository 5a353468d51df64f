"""The agents and monitors that healing knows, and how it reaches them: an interface that the fleet (or a test)
registers.

`send` writes a durable record in the caller's transaction, together with the intent, and the agents room delivers it
at most once. So no effect can happen without its intent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from functools import cached_property
from typing import NamedTuple, Protocol

from zope.interface import Interface

from opsapp.healing.logic.rules import in_scope, names_of
from opsapp.healing.records import RuleTargets
from opsapp.healing.stages.world import Host
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root
from opsapp.wire.heals import HostAnswer


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

    @property
    def item_id(self) -> str:
        return self.subject.partition(":")[2]

    def is_among(self, targets: RuleTargets | None) -> bool:
        """Without targets a rule is about everything."""
        if targets is None:
            return True
        return in_scope(self.names, self.tags, targets.agents if self.is_agent else targets.monitors)


class Inventory(list[Member]):
    """The members at one moment. It never changes, so each index is made once; the same object is used as long as no
    member changes."""

    @cached_property
    def agents(self) -> list[Member]:
        return [member for member in self if member.is_agent]

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return {member.agent_id: _host(member) for member in self.agents if member.agent_id}

    @cached_property
    def monitors(self) -> dict[str, str]:
        """Map each name of the monitors that are not paused to the monitor's subject."""
        looked_at = [member for member in self if not member.is_agent and member.online]
        return {name: member.subject for member in looked_at for name in (member.name, *member.names)}

    @cached_property
    def away(self) -> frozenset[str]:
        """What hosts are called that are known to be away. A name that another host of them has too is not."""
        heard: set[str] = set()
        silent: set[str] = set()
        for member in self.agents:
            (heard if member.online or member.unheard else silent).update((member.name, *member.names))
        return frozenset(silent - heard)

    @cached_property
    def hosts_away(self) -> frozenset[str]:
        """What events call the hosts."""
        return self.away & {member.name for member in self.agents}

    def measuring(self, target: str) -> tuple[str, ...]:
        """Subjects of monitors and agents with its name, else with the name of its host."""
        return self._subjects.get(target) or self._subjects.get(target.partition("/")[0], ())

    @cached_property
    def _subjects(self) -> dict[str, tuple[str, ...]]:
        """Map each name to the subjects that are online under it."""
        by_name: dict[str, list[str]] = {}
        for member in self:
            for name in {member.name, *member.names} if member.online else ():
                by_name.setdefault(name, []).append(member.subject)
        return {name: tuple(subjects) for name, subjects in by_name.items()}

    def named(self, target: str) -> Member | None:
        """The agent or monitor that it is, or is on."""
        return self._by_name.get(target.partition("/")[0])

    def agent_named(self, name: str) -> Member | None:
        """What two go by is nobody's name; an id never is."""
        own, called = self.by_subject.get(f"agent:{name}"), self._agents_by_name.get(name, [])
        if own is not None:
            return own
        return called[0] if len(called) == 1 and not called[0].ambiguous else None

    @cached_property
    def _agents_by_name(self) -> dict[str, list[Member]]:
        agents: dict[str, list[Member]] = {}
        for member in self.agents:
            for name in member.names:
                agents.setdefault(name, []).append(member)
        return agents

    def in_graph(self, target: str) -> str:
        """Its name there; it may be given by an id."""
        member, (_, slash, part) = self.named(target), target.partition("/")
        return target if member is None else f"{member.name}{slash}{part}"

    @cached_property
    def _by_name(self) -> dict[str, Member]:
        return {name: member for member in reversed(self) for name in member.names}

    def monitors_of(self, names: Collection[str], below: Collection[str]) -> list[Member]:
        """Return in order the monitors on one of these hosts, or called by one of these names or of those that depend
        on them."""
        members = dict[int, Member]()
        for name in names:
            members.update(self._monitors_on.get(name, ()))
        for name in {*names, *below}:
            members.update(self._monitors_called.get(name, ()))
        return [members[place] for place in sorted(members)]

    @cached_property
    def _monitors_on(self) -> dict[str, list[tuple[int, Member]]]:
        """(their place, monitor) by the id of the agent."""
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
    """The utility of `FleetAccess`."""


class FleetAccess(Protocol):
    """All methods but `recheck` run in the caller's transaction and do not wait."""

    def inventory(self, root: Root) -> Inventory:
        """The same object as long as no member has changed."""

    def send(
        self, root: Root, agent_id: str, kind: str, params: JsonObject, *, timeout: int | None, expiry: float
    ) -> str:
        """Its id."""

    def answer(self, root: Root, agent_id: str, command_id: str) -> HostAnswer | None:
        """None while it is open."""

    def intervened(self, root: Root, subject: str, agent_id: str | None, since: float) -> float | None:
        """When a person or a run first did something there, or took care of it, from then on."""

    def knows(self, root: Root, subject: str) -> bool:
        """Whether the agent or monitor exists (still)."""

    def recall(self, root: Root, agent_id: str, command_id: str) -> bool:
        """Whether it could be withdrawn: only what was not delivered yet."""

    def doubtful(self, node: Node, subject: str) -> bool:
        """A monitor's last check failed, and that is not confirmed yet."""

    def recheck(self, node: Node, subject: str, done: Callable[[float], None]) -> None:
        """Start on the hub a check, or ask for a report. `done` gets the time at which it began; without a result it is
        not called."""


def fleet_access(root: Root) -> FleetAccess:
    return node_of(root).registry.getUtility(IFleetAccess)


def inventory_of(root: Root) -> Inventory:
    return fleet_access(root).inventory(root)
