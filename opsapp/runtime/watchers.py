"""Functions that are called about a thing while they watch it, by the thing's id: in memory of one node.

A watcher that misses a call looks by itself. Must not: know what is watched, or say on which thread it is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

Watcher = Callable[..., object]


class Watchers:
    def __init__(self) -> None:
        self._lock = threading.RLock()  # the collector may end another watch while one holds it
        self._by_id: dict[str, list[Watcher]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._by_id

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._by_id))

    def watch(self, name: str, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` with what `call` is given; the function returned ends it."""
        with self._lock:
            self._by_id.setdefault(name, []).append(watcher)

        def stop() -> None:
            with self._lock:
                left = [other for other in self._by_id.get(name, ()) if other is not watcher]
                if left:
                    self._by_id[name] = left
                else:
                    self._by_id.pop(name, None)

        return stop

    def call(self, name: str, *values: object) -> None:
        for watcher in tuple(self._by_id.get(name, ())):
            watcher(*values)

    def forget(self, name: str) -> None:
        with self._lock:
            self._by_id.pop(name, None)
