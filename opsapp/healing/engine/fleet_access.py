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
    """The utility's interface."""


class FleetAccess(Protocol):
    """All methods but `recheck` run in the caller's transaction and do not wait."""

    def inventory(self, root: Root) -> Inventory:
        """Every agent and monitor; the same object as long as none has changed."""

    def send(
        self, root: Root, agent_id: str, kind: str, params: JsonObject, *, timeout: int | None, expiry: float, by: str
    ) -> str:
        """Store a command for an agent; its id."""

    def answer(self, root: Root, agent_id: str, command_id: str) -> JsonObject | None:
        """The command's final {status, exit_code, output, reason, data}, or None while it is open."""

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
