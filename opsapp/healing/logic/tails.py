"""How rare a deviation is: the largest that were seen, and how fast they get rarer beyond. Pure, of fixed size."""

from __future__ import annotations

import math
from array import array
from bisect import insort

KEPT = 32  # of the largest
LONG = 8192  # so many are remembered; then every second one is forgotten
FEWEST = 100
MOST = 12.0  # rarer than one in 10^12 nobody can tell
HEAVIEST = 0.45
NARROWEST = 0.05  # of the smallest kept: no law falls faster, for what has stayed within bounds may pass them
SURPRISES = 2  # of the largest say nothing of how far out the next may lie
FAR = 3.0  # of what the law falls by: nine of ten times, the larger of two lies no farther
E = math.log10(math.e)


class RarityTail:
    """Of deviations to one side. The share of those beyond the smallest kept one is known. Farther out two laws are
    fitted to the kept ones, and the mean of both is told: a generalised Pareto distribution by its moments, which suits
    what is bounded or falls like noise, and Hill's power law, which suits what has no scale. The largest two
    count no farther out than the others let expect: what went wrong once or twice is no habit."""

    __slots__ = ("largest", "seen")

    def __init__(self) -> None:
        self.largest = array("f")
        self.seen = 0

    def take(self, deviation: float) -> None:
        self.seen += 1
        if len(self.largest) < KEPT:
            insort(self.largest, deviation)
        elif deviation > self.largest[0]:
            self.largest.pop(0)
            insort(self.largest, deviation)
        if self.seen >= LONG:
            self.seen //= 2
            self.largest = self.largest[::2]

    def rarity(self, deviation: float, least: float = 0.0) -> float:
        """-log10 of how often a deviation is at least so large; 0 while little is known. With `least` the kept ones
        count as that far apart at the least, so that what never moved may move a little."""
        if self.seen < FEWEST or deviation <= self.largest[0]:
            return 0.0
        start, kept = self.largest[0], len(self.largest)
        floor = max(least, NARROWEST * start, 1e-12)
        beyond, logs = deviation - start, [math.log((value + floor) / (start + floor)) for value in self.largest]
        fall, farthest = _without_surprises(logs)
        most = (start + floor) * math.expm1(farthest)
        excesses = [min(most, value - start) for value in self.largest]
        mean = max(floor, math.fsum(excesses) / kept)
        spread = math.fsum((excess - mean) ** 2 for excess in excesses) / kept
        shape = min(HEAVIEST, max(0.0, (1 - mean * mean / spread) / 2)) if spread else 0.0
        if shape < 0.01:
            by_moments = beyond / mean * E
        else:
            by_moments = math.log10(1 + shape * beyond / (mean * (1 - shape))) / shape
        by_power = math.log10((deviation + floor) / (start + floor)) / max(fall, math.log1p(floor / (start + floor)))
        return min(MOST, math.log10(self.seen / kept) + (by_moments + by_power) / 2)


def _without_surprises(logs: list[float]) -> tuple[float, float]:
    """How far out the largest are on average, and the farthest that one of them may lie: where the power law of all but
    the largest two lets those lie in nine of ten cases."""
    measured, most = logs[:-SURPRISES], logs[-SURPRISES - 1]
    farthest = most + FAR * (math.fsum(measured) + SURPRISES * most) / len(measured)
    return math.fsum(min(value, farthest) for value in logs) / len(logs), farthest
