"""How many targets of one outage are healed at once: one, a few, more, the rest."""

from __future__ import annotations

import math
from typing import Annotated, Any

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import JsonKind, Number, Whole, Wrong
from opsapp.wire.records import Between, DeclaredObject, Most

OFF = "off"
FIRST, GROWTH = 1, (0.1, 0.5, 1.0)
NEARLY = 1e-9  # what a product of floats may be short of a whole number


@frozen
class WaveSizes:
    """`first`, then these shares of all; the last one repeats."""

    first: Annotated[int, Between(1, 1000)] = FIRST
    growth: Annotated[tuple[Annotated[float, Between(0.001, 1)], ...], Most(20, least=1)] = GROWTH

    def of_wave(self, number: int, total: int, left: int) -> int:
        """`left`: of `total`, without a turn yet."""
        if number <= 1:
            return min(left, self.first)
        share = self.growth[min(number - 2, len(self.growth) - 1)]
        return min(left, max(1, math.floor(total * share + NEARLY)))

    def waves(self, total: int) -> int:
        left, number = total, 0
        while left > 0:
            number += 1
            left -= self.of_wave(number, total, left)
        return number

    def __str__(self) -> str:
        shares = ", ".join(f"{share * 100:g} %" for share in self.growth)
        return f"first {self.first}, then {shares}"


class Waves(JsonKind):
    """Reads the sizes of waves, or `off`, which YAML reads as false."""

    shape = DeclaredObject(WaveSizes)
    default = {"first": FIRST, "growth": GROWTH}
    openapi = {
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "first": Whole(1, 1000).openapi,
                    "growth": {"type": "array", "minItems": 1, "maxItems": 20, "items": Number(0.001, 1).openapi},
                },
            },
            {"type": "string", "enum": [OFF]},
            {"type": "boolean", "enum": [False]},
        ]
    }

    def read(self, value: Any, path: str, wrong: Wrong) -> Any:
        if value is False or value == OFF:
            return OFF
        if not isinstance(value, dict):
            wrong[path] = "must be off, or an object with first and growth"
            return value
        return self.shape.read(value, path, wrong)

    def made(self, value: Any) -> Any:
        return value if value == OFF else self.shape.made(value)

    def plain(self, value: Any) -> Any:
        return value if value == OFF else self.shape.plain(value)


WAVES = Waves()


def sizes_for(own: WaveSizes | str | None, setting: WaveSizes | str | None) -> WaveSizes | None:
    """A rule's own comes first. None: they go as they come."""
    wanted = setting if own is None else own
    return wanted if isinstance(wanted, WaveSizes) else None
