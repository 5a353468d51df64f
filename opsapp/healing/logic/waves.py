"""How many of the targets of one outage are healed at once: one, then a few, then more, then the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OFF = "off"
FIRST, GROWTH = 1, (0.1, 0.5, 1.0)
NEARLY = 1e-9  # what a product of floats may be short of a whole number


@dataclass(frozen=True)
class WaveSizes:
    """`first` in the first wave; then these shares of all, of which the last one holds for all that follow."""

    first: int = FIRST
    growth: tuple[float, ...] = GROWTH

    def of_wave(self, number: int, total: int, left: int) -> int:
        """How many of `total` go in this wave, of which `left` have not had their turn."""
        if number <= 1:
            return min(left, self.first)
        share = self.growth[min(number - 2, len(self.growth) - 1)]
        return min(left, max(1, math.floor(total * share + NEARLY)))

    def waves(self, total: int) -> int:
        """How many waves so many targets come to."""
        left, number = total, 0
        while left > 0:
            number += 1
            left -= self.of_wave(number, total, left)
        return number

    def __str__(self) -> str:
        shares = ", ".join(f"{share * 100:g} %" for share in self.growth)
        return f"first {self.first}, then {shares}"


def sizes(given: Any) -> WaveSizes | None:
    """Of a setting or of what a rule says of its own; None: they go as they come."""
    if isinstance(given, WaveSizes):
        return given
    if given in (None, OFF, False):
        return None
    return WaveSizes(given.get("first", FIRST), tuple(given.get("growth") or GROWTH))


def sizes_for(rule: Mapping[str, Any] | None, setting: Any) -> WaveSizes | None:
    """A rule's own come first."""
    own = (rule or {}).get("waves")
    return sizes(setting if own is None else own)
