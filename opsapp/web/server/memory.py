"""Giving memory back after a wave of connections: glibc keeps what was freed in the middle of its heap until asked."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

WAVE = 500
EBB = 0.1


class HighWater:
    """Notes how high the number of connections rose; after a wave has ebbed away, memory is given back once."""

    def __init__(self, give_back: Callable[[], None]):
        self._give_back = give_back
        self._highest = 0

    def rose(self, count: int) -> None:
        self._highest = max(self._highest, count)

    def fell(self, count: int) -> None:
        if self._highest >= WAVE and count <= self._highest * EBB:
            self._highest = count
            self._give_back()


def trim() -> None:
    """In a native thread: return free pages to the system. Other C libraries have no such call, and no such need."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
