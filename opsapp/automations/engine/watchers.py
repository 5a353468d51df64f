"""Who on this node follows the output of which run. Memory only: a follower that misses a wake-up looks by itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

KEY = "opsapp.automations.watchers"


class Watchers:
    """`changed` is called from any thread, after a commit."""

    def __init__(self, node: Any):
        self._node = node
        self._lock = threading.RLock()  # the collector may end another stream while one holds it
        self._by_run: dict[str, list[Callable[[], None]]] = {}

    def watch(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """`wake()` on the hub (or in the committing thread, where none runs); the answer ends it."""
        with self._lock:
            self._by_run.setdefault(run_id, []).append(wake)

        def stop() -> None:
            with self._lock:
                left = [other for other in self._by_run.get(run_id, ()) if other is not wake]
                if left:
                    self._by_run[run_id] = left
                else:
                    self._by_run.pop(run_id, None)

        return stop

    def changed(self, run_id: str) -> None:
        if run_id in self._by_run:
            self._node.post(self._wake, run_id)

    def _wake(self, run_id: str) -> None:
        for wake in tuple(self._by_run.get(run_id, ())):
            wake()


def watchers_of(node: Any) -> Watchers:
    return node.registry[KEY]
