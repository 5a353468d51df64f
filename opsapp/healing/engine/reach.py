"""How healing reaches hosts and monitors: one interface, registered as a utility by whoever can (agents, a test).

Commands are durable records: `send` writes one in the caller's transaction, together with the intent, and the room of
agents delivers it at most once. So there is no moment at which an effect could happen without its intent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from zope.interface import Interface

from opsapp.healing.logic.rules import names_of
from opsapp.healing.stages.world import Host
from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


class Place(NamedTuple):
    """An agent or a monitor as rules see it. `subject` is its word in the live view."""

    subject: str  # agent:ID or monitor:ID
    name: str  # hostname, or the monitor's name: what events call it
    agent_id: str | None  # where a heal for it runs
    names: tuple[str, ...] = ()  # everything that it may be called by, itself included
    tags: tuple[str, ...] = ()
    interval: float = 15.0  # between its reports or checks
    online: bool = True  # of a monitor: not paused
    usable: frozenset[str] | None = None
    ambiguous: bool = False

    @property
    def is_agent(self) -> bool:
        return self.subject.startswith("agent:")


class Places(list[Place]):
    """All places at one moment, never changed: what is made of them is made once. The same object as long as nothing
    about them is different."""

    @cached_property
    def hosts(self) -> dict[str, Host]:
        return {place.agent_id: _host(place) for place in self if place.is_agent and place.agent_id}

    @cached_property
    def monitors(self) -> dict[str, str]:
        """The words of monitors in the live view, by what they may be called. Nobody looks at one that is paused."""
        looked_at = [place for place in self if not place.is_agent and place.online]
        return {name: place.subject for place in looked_at for name in (place.name, *place.names)}

    def measuring(self, target: str) -> tuple[str, ...]:
        """The words of what measures a target: the monitors and agents that are called so, or that its host is."""
        return self._subjects.get(target) or self._subjects.get(target.partition("/")[0], ())

    @cached_property
    def _subjects(self) -> dict[str, tuple[str, ...]]:
        """By everything that they may be called, as far as anything is heard of them."""
        found: dict[str, list[str]] = {}
        for place in self:
            for name in {place.name, *place.names} if place.online else ():
                found.setdefault(name, []).append(place.subject)
        return {name: tuple(subjects) for name, subjects in found.items()}

    def named(self, target: str) -> Place | None:
        """The agent or monitor that a target is, or is on."""
        return self._by_name.get(target.partition("/")[0])

    def in_graph(self, target: str) -> str:
        """What a target is called in the graph, which may be named by an id."""
        place, (_, slash, part) = self.named(target), target.partition("/")
        return target if place is None else f"{place.name}{slash}{part}"

    @cached_property
    def _by_name(self) -> dict[str, Place]:
        return {name: place for place in reversed(self) for name in place.names}

    @cached_property
    def called(self) -> frozenset[str]:
        return frozenset(place.name for place in self)

    def holds(self, target: str) -> bool:
        """Whether the target of an event, or the host that it is on, is there (still)."""
        return not self.called.isdisjoint(names_of(target))

    @cached_property
    def by_subject(self) -> dict[str, Place]:
        return {place.subject: place for place in self}


def _host(place: Place) -> Host:
    return Host(
        str(place.agent_id),
        place.name,
        label=next((name for name in place.names if name not in (place.name, place.agent_id)), ""),
        online=place.online,
        usable=place.usable,
        ambiguous=place.ambiguous,
    )


class IReach(Interface):
    """The utility."""


class Reach(Protocol):
    """All but `recheck` inside the caller's transaction; no waiting, no sockets."""

    def places(self, root: Root) -> Places:
        """Every agent and monitor; the same object while they are the same."""

    def send(
        self, root: Root, agent_id: str, kind: str, params: dict[str, Any], *, timeout: int, expiry: float, by: str
    ) -> str:
        """A durable command; its id."""

    def answer(self, root: Root, agent_id: str, command_id: str) -> dict[str, Any] | None:
        """The command's final {status, exit_code, output, reason, data}, or None while it is open."""

    def knows(self, root: Root, subject: str) -> bool:
        """Whether there is such an agent or monitor (still)."""

    def recall(self, root: Root, agent_id: str, command_id: str) -> bool:
        """Take a command back that nobody has been given; whether that was so."""

    def doubtful(self, node: Node, subject: str) -> bool:
        """Whether a monitor's last check failed, and it is looked at again before anything is said of it."""

    def recheck(self, node: Node, subject: str, done: Callable[[float], None]) -> None:
        """On the hub: begin a fresh check of a monitor, or have an agent measure; `done` is told when that began, once
        its result is seen. Not where there is none."""


def reach_of(root: Root) -> Reach:
    return node_of(root).registry.getUtility(IReach)
