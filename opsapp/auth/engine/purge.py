"""Removes what has expired, every five minutes, on one node."""

from __future__ import annotations

from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.resources.federation import purge_states
from opsapp.auth.resources.invitations import LEASE, move, purge_invitations
from opsapp.runtime.node import Node


def start(node: Node) -> None:
    every = lambda: node.config[LoginSettings].purge_s  # noqa: E731
    node.supervisor.add("session-purge", lambda: purge(node), every=every, lease=LEASE)
    node.clock_steps.carry(LEASE, "invitations", move)


def purge(node: Node) -> bool:
    """Page by page; whether there is more."""
    pages = (
        resources.purge_attempts,
        resources.purge_partials,
        resources.purge_tickets,
        purge_states,
        purge_invitations,
    )
    for purge_page in pages:
        after: str | None = ""
        while after is not None:
            after = node.transact(purge_page, node.clock.now(), after)
    return node.transact(resources.purge_sessions, node.clock.now())
