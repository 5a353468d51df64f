"""What so few tries show of a rate. Pure."""

from __future__ import annotations

import math
from typing import NamedTuple


class RateRange(NamedTuple):
    low: float
    high: float


def wilson(good: float, tried: int, z: float) -> RateRange:
    """Wilson's range, `z` standard deviations to each side. At least one was tried."""
    rate, weight = good / tried, z * z / tried
    middle = (rate + weight / 2) / (1 + weight)
    spread = z * math.sqrt((rate * (1 - rate) + weight / 4) / tried) / (1 + weight)
    return RateRange(max(0.0, middle - spread), middle + spread)
