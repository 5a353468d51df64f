"""What one observation is, and the codes of its states.

A state lasts to the next observation of its series, and at most `hold` seconds: after that nobody was looking. So a
crash needs no clean-up to show as a gap.
"""

from __future__ import annotations

from typing import NamedTuple

NONE, UP, DEGRADED, DOWN, MAINTENANCE, PAUSED, UNKNOWN = range(7)
NAMES = ("none", "up", "degraded", "down", "maintenance", "paused", "unknown")
CODES = {name: code for code, name in enumerate(NAMES)}
# Worst first: what a bucket shows when several states fall into it.
SEVERITY = (DOWN, DEGRADED, UNKNOWN, MAINTENANCE, PAUSED, UP, NONE)

MARK = 0x80  # set on a status that is a change of state without a check: it lasts, but does not count as a check
FOREVER = 0xFFFFFFFF  # a hold without end: paused monitors, windows


class Row(NamedTuple):
    """One observation within its series."""

    time: int
    value: float | None
    status: int
    hold: int

    @property
    def state(self) -> int:
        return self.status & ~MARK

    @property
    def is_check(self) -> bool:
        return not self.status & MARK


def worst(states) -> int:
    """NONE of an empty collection."""
    return min(states, key=SEVERITY.index, default=NONE)
