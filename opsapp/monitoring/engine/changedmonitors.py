"""Which monitors have changed lately, as events say: a status page that shows none of them is not made again.

In this process's memory, of the last seconds alone: what is older is made again anyway. Must not: know a page.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from opsapp.runtime.events import Event, Positions, positions, read_since
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

OF_A_MONITOR = {"monitor": "id", "incident": "monitor_id"}
OF_EVERY_PAGE = frozenset(("status_page", "maintenance", "_lost"))  # what no monitor says
MOST = 100_000  # ids


class ChangedMonitors:
    """One per node. Each look has a number: what has changed since one was made is asked by the number of its look."""

    def __init__(self, node: Node, kept_s: float):
        self._node, self._kept_s = node, kept_s
        self._lock = threading.Lock()
        self._positions: Positions | None = None
        self._state: object = None
        self._at = 0.0
        self._number = self._every = 0
        self._monitors: dict[str, int] = {}

    def look(self, state: object) -> int:
        """Read what was told up to `state`, a transaction; its number. In a thread."""
        with self._lock:
            now = self._node.clock.monotonic()
            if self._positions is None or now - self._at >= self._kept_s or len(self._monitors) > MOST:
                self._positions, self._monitors = self._node.transact(positions), {}
                self._number += 1
                self._every = self._number
            elif state != self._state:
                self._positions, fresh = self._node.transact(_read, self._positions)
                self._number += 1
                for event in fresh:
                    self._hear(event)
            self._state, self._at = state, now
            return self._number

    def has_changed(self, monitors: Iterable[str], since: int) -> bool:
        if self._every > since:
            return True
        return any(self._monitors.get(monitor_id, 0) > since for monitor_id in monitors)

    def _hear(self, event: Event) -> None:
        monitor_id = event.data.get(OF_A_MONITOR.get(event.kind, ""))
        if monitor_id:
            self._monitors[monitor_id] = self._number
        elif event.kind in OF_A_MONITOR or event.kind in OF_EVERY_PAGE:
            self._every = self._number


def _read(root: Root, before: Positions) -> tuple[Positions, list[Event]]:
    return read_since(root, before)
