"""How much is to be expected of what has worked so often out of so many times."""

from __future__ import annotations

from math import sqrt

Z = 1.645  # one-sided 95 %


def at_least(good: int, tried: int) -> float:
    """The lower bound of the success rate (Wilson); 0 with no trial at all."""
    if tried == 0:
        return 0.0
    rate, weight = good / tried, Z * Z / tried
    middle = rate + weight / 2
    spread = Z * sqrt(rate * (1 - rate) / tried + weight / (4 * tried))
    return max(0.0, (middle - spread) / (1 + weight))


def for_condition(helped: int, tried_here: int, good: int, tried: int) -> float:
    """What is to be expected against this very condition. Where it was never tried, a general success counts half."""
    return at_least(helped, tried_here) if tried_here else at_least(good, tried) / 2
