"""Numbers for new series, handed out in blocks so that creating monitors never meets a hot counter."""

from __future__ import annotations

import threading
from collections.abc import Callable

from opsapp.series.history import history_root, open_history


def reserve(root, count: int) -> int:
    """Transaction function: set `count` numbers aside; the first of them."""
    history = open_history(history_root(root), create=True)
    first = history.next_number
    history.next_number = first + count
    return first


class Numbers:
    """This process's stock. A number that is taken and not used is lost, and that is all."""

    def __init__(self, transact: Callable, block: int = 64):
        self._transact = transact
        self._block = block
        self._stock: list[int] = []
        self._lock = threading.Lock()

    def take(self, count: int = 1) -> list[int]:
        """`count` numbers nobody else has. Call it in a native thread: it may need a transaction of its own."""
        with self._lock:
            if len(self._stock) < count:
                size = max(self._block, count)
                first = self._transact(reserve, size)
                self._stock += range(first, first + size)
            taken, self._stock = self._stock[:count], self._stock[count:]
        return taken
