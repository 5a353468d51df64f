"""When to give memory back after a wave of connections."""

from __future__ import annotations

from collections.abc import Callable

WAVE = 500
EBB = 0.1


class HighWater:
    """It gives memory back once, when most connections of a wave have ended."""

    def __init__(self, give_back: Callable[[], None]):
        self._give_back = give_back
        self._highest = 0

    def rose(self, count: int) -> None:
        self._highest = max(self._highest, count)

    def fell(self, count: int) -> None:
        if self._highest >= WAVE and count <= self._highest * EBB:
            self._highest = count
            self._give_back()
