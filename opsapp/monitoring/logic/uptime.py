"""Uptime and SLA from how long each state lasted. Pure; times in ms where they are called so, else in seconds.

Uptime is up time / (up time + down time). `degraded` is up; maintenance, paused and unknown time count as nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opsapp.monitoring.records import SlaFigures

DAYS = (1, 730)
MINUTE_MS = 60_000


class StateTimes(NamedTuple):
    """What is left of a window is unknown."""

    up: int = 0
    degraded: int = 0
    down: int = 0
    maintenance: int = 0
    paused: int = 0


def percent(up: int, down: int) -> float | None:
    """The uptime rounded down to three decimals, so that only always is 100; None without data."""
    total = up + down
    return up * 100_000 // total / 1000 if total > 0 else None


def uptime(spent: StateTimes) -> float | None:
    return percent(spent.up + spent.degraded, spent.down)


def known_uptime(spent: StateTimes, window_ms: float, every_ms: float) -> float | None:
    """None where too little of the window is known."""
    return uptime(spent) if enough_known(sum(spent), window_ms, every_ms) else None


def enough_known(known_ms: float, window_ms: float, every_ms: float) -> bool:
    """Whether nobody looked for at most half of the window, or for no longer than from one check to the next."""
    return window_ms - known_ms <= max(window_ms / 2, every_ms)


def budget_left(spent: StateTimes, window_ms: float, slo: float) -> float | None:
    """The share that is left of the down time that an availability of `slo` percent allows. None where less than half
    of the window is known."""
    up, down = spent.up + spent.degraded, spent.down
    if up + down == 0 or not is_known(spent, window_ms):
        return None
    return 1 - down / (up + down) / (1 - slo / 100)


def is_known(spent: StateTimes, window_ms: float) -> bool:
    return 2 * sum(spent) >= window_ms


def known_percent(spent: StateTimes, window_ms: int) -> float:
    """Rounded down to one decimal."""
    return min(100.0, sum(spent) * 1000 // window_ms / 10) if window_ms > 0 else 0.0


def shown(value: float | None) -> str:
    """The figure for people: two decimals, rounded down; a dash without data."""
    if value is None:
        return "–"
    return "100" if value >= 100 else f"{int(value * 100 + 1e-6) / 100:.2f}"


def sla(
    spent: StateTimes, window_ms: int, every_ms: int, checks: int, incidents: Sequence[tuple[Any, ...]]
) -> SlaFigures:
    """`incidents`: (started, resolved or None) in seconds, those that touch the window."""
    known = sum(spent)
    repaired = [resolved - started for started, resolved in incidents if resolved is not None]
    return SlaFigures(
        known_uptime(spent, window_ms, every_ms),
        checks,
        _minutes(spent.down),
        _minutes(spent.maintenance),
        _minutes(max(0, window_ms - known)),
        len(incidents),
        round(sum(repaired) / len(repaired) / 60, 2) if repaired else None,
    )


def _minutes(milliseconds: int) -> float:
    return round(milliseconds / MINUTE_MS, 2)
