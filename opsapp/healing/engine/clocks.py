"""What of healing goes with a clock that was set, under the pipeline's lease: at once, and the cases in pieces."""

from __future__ import annotations

from opsapp.healing.resources import clockmoves, healing_of
from opsapp.maintenance.engine import move_healing
from opsapp.runtime import leases
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

LEASE = "healing"


def move(root: Root, by: float) -> None:
    """Cases are written down for `move_on`."""
    leases.check(root, LEASE)
    healing_of(root).move(by, node_of(root).clock.now())
    move_healing(root, by)


def move_on(root: Root) -> bool:
    """Whether there is more."""
    leases.check(root, LEASE)
    return clockmoves.go_on(healing_of(root).book)
