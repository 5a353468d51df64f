"""Where a metric is heading: a robust line through its past with an interval, and what does not fit its past at all.

Pure figures. The line is Theil's and Sen's (the median of all slopes), the interval of its slope is Sen's, from the
distribution of Kendall's tau; neither is moved by outliers. How far to trust it is tried on the past itself: the line
through the older part has to foretell the newer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

DAY = 86400.0
MOST_POINTS = 72  # of which every pair is looked at
FEWEST_POINTS, SHORTEST_S = 200, 3 * DAY  # either is enough
Z95 = 1.959963984540054
HELD_OUT = 0.25
TRUSTED_COVERAGE = 0.5  # below it the past was not foretold, so the future is not either
STRANGE = 6.0  # robust standard deviations from its median
STRANGE_LEAST = 10.0  # and so many units, for a metric that hardly ever moves

Point = tuple[float, float]  # (time, value)


class TrendLine(NamedTuple):
    """`value(t) = level + slope * (t - at)`; the slope's interval; how far values usually are from the line."""

    at: float
    level: float
    slope: float
    low: float
    high: float
    spread: float

    def value(self, time: float, slope: float | None = None) -> float:
        return self.level + (self.slope if slope is None else slope) * (time - self.at)


class Forecast(NamedTuple):
    """`hits_at` is None when the line does not lead there; `low` and `high` are the interval's ends, None: never."""

    now: float
    threshold: float
    hits_at: float | None
    low: float | None
    high: float | None
    coverage: float
    spread: float

    def within(self, seconds: float, now: float) -> bool:
        """Whether it is known well enough that the threshold is met so soon: the interval is no wider than that."""
        if self.hits_at is None or self.low is None or self.high is None or self.coverage < TRUSTED_COVERAGE:
            return False
        return self.hits_at - now <= seconds and self.high - self.low <= seconds


def enough(points: Sequence[Point]) -> bool:
    return len(points) >= FEWEST_POINTS or (len(points) > 9 and points[-1][0] - points[0][0] >= SHORTEST_S)


def thin(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most so many points: the medians of as many equal parts."""
    if len(points) <= most:
        return list(points)
    cuts = [round(at * len(points) / most) for at in range(most + 1)]
    parts = [points[a:b] for a, b in pairwise(cuts)]
    return [(median(time for time, _ in part), median(value for _, value in part)) for part in parts]


def line_through(points: Sequence[Point]) -> TrendLine | None:
    """None when all were measured at one moment."""
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for n, a in enumerate(points) for b in points[n + 1 :] if b[0] > a[0])
    if not slopes:
        return None
    count, at = len(points), points[-1][0]
    slope = median(slopes)
    spread_of_tau = Z95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    low = slopes[max(0, int((len(slopes) - spread_of_tau) / 2))]
    high = slopes[min(len(slopes) - 1, math.ceil((len(slopes) + spread_of_tau) / 2))]
    level = median(value - slope * (time - at) for time, value in points)
    spread = 1.4826 * median(abs(value - level - slope * (time - at)) for time, value in points)
    return TrendLine(at, level, slope, low, high, spread)


def coverage(points: Sequence[Point]) -> float:
    """How much of the newer part the line through the older part would have foretold, within its interval."""
    cut = len(points) - max(2, round(HELD_OUT * len(points)))
    line = line_through(points[:cut]) if cut > 2 else None
    if line is None:
        return 0.0
    held = points[cut:]
    margin = 3 * line.spread + 1e-9
    ends = [sorted((line.value(time, line.low), line.value(time, line.high))) for time, _ in held]
    inside = sum(low - margin <= value <= high + margin for (low, high), (_, value) in zip(ends, held, strict=True))
    return inside / len(held)


def forecast(points: Sequence[Point], threshold: float, now: float) -> Forecast | None:
    """None when too little is known to say anything."""
    if not enough(points):
        return None
    thinned = thin(points)
    line = line_through(thinned)
    if line is None:
        return None
    here = line.value(now)
    central = _meets(here, threshold, line.slope, now)
    margin = 2 * Z95 * line.spread / math.sqrt(len(thinned))  # at its end a line is known half as well as in the middle
    soonest = _meets(here + margin, threshold, line.high, now)
    latest = _meets(here - margin, threshold, line.low, now)
    if central is None:
        soonest = latest = None
    tried = round(coverage(thinned), 3)
    return Forecast(round(here, 3), threshold, central, soonest, latest, tried, line.spread)


def _meets(here: float, threshold: float, slope: float, now: float) -> float | None:
    if here >= threshold:
        return now
    return None if slope <= 0 else min(now + (threshold - here) / slope, now + 3650 * DAY)


def strange(points: Sequence[Point], newest: Sequence[Point]) -> tuple[float, float] | None:
    """(the usual value, the deviation that would still be usual) when all of the newest lie far above it."""
    if not enough(points) or not newest:
        return None
    values = [value for _, value in thin(points, 500)]
    usual = median(values)
    margin = max(STRANGE * 1.4826 * median(abs(value - usual) for value in values), STRANGE_LEAST)
    return (usual, margin) if min(value for _, value in newest) > usual + margin else None
