"""How rare a deviation is, by the largest of the last one or two weeks. Pure, of fixed size; these weeks alone decide,
so feeding them again says the same."""

from __future__ import annotations

import math
from array import array
from bisect import insort

KEPT = 32  # of the largest
BLOCKS = 3  # are remembered, the newest included
BLOCK_S = 4 * 86400.0  # each begins at the same times for all: a habit of the week is never older than what is known
FEWEST = 100
MOST = 12.0  # rarer than one in 10^12 nobody can tell
HEAVIEST = 0.45
NARROWEST = 0.05  # of the smallest kept: no law falls faster, for what has stayed within bounds may pass them
SURPRISES = 2  # of the largest say nothing of how far out the next may lie
FAR = 3.0  # of what the law falls by: nine of ten times, the larger of two lies no farther
MANY = 400  # in a block at least: what comes by the hour is remembered for longer
NEVER = -(10**9)
E = math.log10(math.e)


class RarityTail:
    """Beyond the kept ones, the mean of two fitted laws: a generalised Pareto by its moments (bounded, or noise), and
    Hill's power law (without scale). The largest two count no farther than the others let expect: what went wrong once
    or twice is no habit."""

    __slots__ = ("block", "blocks", "counts", "largest", "seen")

    def __init__(self) -> None:
        self.block = NEVER
        self.blocks, self.counts = [array("f")], [0]  # the largest of each, and how many there were; the newest last
        self.largest = array("f")  # of all blocks
        self.seen = 0

    def take(self, deviation: float, block: int = 0) -> None:
        if block > self.block and (self.counts[-1] >= MANY or self.block == NEVER):
            self._turn(block)
        self.seen += 1
        self.counts[-1] += 1
        if deviation > 0:
            _keep(self.blocks[-1], deviation)
            _keep(self.largest, deviation)

    def _turn(self, block: int) -> None:
        """The first nights of a new job are no measure of all others."""
        passed = min(BLOCKS, block - self.block)
        self.block = block
        self.blocks = [*self.blocks, *(array("f") for _ in range(passed))][-BLOCKS:]
        self.counts = [*self.counts, *(0 for _ in range(passed))][-BLOCKS:]
        self.seen = sum(self.counts)
        self.largest = array("f", sorted(value for kept in self.blocks for value in kept)[-KEPT:])

    def rarity(self, deviation: float, least: float = 0.0) -> float:
        """-log10 of how often it is at least so large; 0 while little is known. `least`: what never moved may move a
        little."""
        missing = KEPT - len(self.largest)
        start, kept = 0.0 if missing else self.largest[0], KEPT
        if self.seen < FEWEST or deviation <= start:
            return 0.0
        largest = [*[0.0] * missing, *self.largest]
        floor = max(least, NARROWEST * start, 1e-12)
        beyond, logs = deviation - start, [math.log((value + floor) / (start + floor)) for value in largest]
        fall, farthest = _without_surprises(logs)
        most = (start + floor) * math.expm1(farthest)
        excesses = [min(most, value - start) for value in largest]
        mean = max(floor, math.fsum(excesses) / kept)
        spread = math.fsum((excess - mean) ** 2 for excess in excesses) / kept
        shape = min(HEAVIEST, max(0.0, (1 - mean * mean / spread) / 2)) if spread else 0.0
        if shape < 0.01:
            by_moments = beyond / mean * E
        else:
            by_moments = math.log10(1 + shape * beyond / (mean * (1 - shape))) / shape
        by_power = math.log10((deviation + floor) / (start + floor)) / max(fall, math.log1p(floor / (start + floor)))
        return min(MOST, math.log10(self.seen / kept) + (by_moments + by_power) / 2)


def _keep(largest: array[float], deviation: float) -> None:
    if len(largest) >= KEPT:
        if deviation <= largest[0]:
            return
        largest.pop(0)
    insort(largest, deviation)


def _without_surprises(logs: list[float]) -> tuple[float, float]:
    """Their mean, and the farthest that one may lie: where the power law of the others lets the largest two lie in nine
    of ten cases."""
    measured, most = logs[:-SURPRISES], logs[-SURPRISES - 1]
    farthest = most + FAR * (math.fsum(measured) + SURPRISES * most) / len(measured)
    return math.fsum(min(value, farthest) for value in logs) / len(logs), farthest
