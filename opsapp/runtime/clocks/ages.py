"""How old many things are, whatever the clock was set by: instead of moving each, one number moves for all.

What is stored of them is the time of a clock that was never set since the first of them. Must not: know a room.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from opsapp.runtime.cluster import leases
from opsapp.tree.root import Root

AHEAD = "clock_ahead"  # by name: the seconds by which the clock was set


class StoredAges(NamedTuple):
    """`name`: in the store, and that of the queue."""

    lease: str
    name: str

    def steady(self, root: Root, now: float) -> float:
        """What is stored as the present time."""
        return now - self.ahead(root)

    def ahead(self, root: Root) -> float:
        ahead: float = root.system.get(AHEAD, {}).get(self.name, 0.0)
        return ahead

    def move(self, root: Root, by: float) -> None:
        leases.check(root, self.lease)
        root.system[AHEAD] = {**root.system.get(AHEAD, {}), self.name: self.ahead(root) + by}

    def carry(self, node: Any) -> None:
        """Go with the clocks of this node while it has the lease."""
        node.clock_steps.carry(self.lease, self.name, self.move)
