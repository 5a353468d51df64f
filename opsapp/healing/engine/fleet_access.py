"""How healing reaches hosts and monitors: one interface, registered as a utility by the fleet (or by a test).

Commands are durable records: `send` writes one in the caller's transaction, together with the intent, and the agents
room delivers it at most once. So no effect can happen without its intent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from zope.interface import Interface

from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .inventory import Inventory

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


class IFleetAccess(Interface):
    """The utility."""


class FleetAccess(Protocol):
    """All but `recheck` inside the caller's transaction; no waiting, no sockets."""

    def inventory(self, root: Root) -> Inventory:
        """Every agent and monitor; the same object while they are the same."""

    def send(
        self, root: Root, agent_id: str, kind: str, params: JsonObject, *, timeout: int, expiry: float, by: str
    ) -> str:
        """A durable command; its id."""

    def answer(self, root: Root, agent_id: str, command_id: str) -> JsonObject | None:
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


def fleet_access(root: Root) -> FleetAccess:
    return node_of(root).registry.getUtility(IFleetAccess)
