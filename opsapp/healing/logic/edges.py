"""How sure a dependency is, by what heals of the parent alone did to the child (docs/adr/083). Pure. Must not: look at
the world, take an edge out."""

from __future__ import annotations

import math
from typing import NamedTuple

COMES_BACK = 0.85  # so often a child that hangs on its parent comes back with it
ALONE, LEAST_ALONE, MOST_ALONE = 0.3, 0.05, 0.7  # so often one that does not comes back meanwhile, if nobody knows
CERTAIN = 3.0  # no edge is surer than that (95 %), so that a world that has changed is seen
LEARNED, WRITTEN = 2.0, 3.0  # how sure an edge is before anything is known of it


class EdgeBelief(NamedTuple):
    """Log odds as at `at`, and how often the child came back or stayed down."""

    odds: float
    at: float
    came_back: int = 0
    stayed: int = 0

    @property
    def tried(self) -> int:
        return self.came_back + self.stayed


def fresh(learned: bool, now: float) -> EdgeBelief:
    return EdgeBelief(LEARNED if learned else WRITTEN, now)


def odds_at(belief: EdgeBelief, now: float, half_life_s: float) -> float:
    """Evidence fades."""
    return float(belief.odds * 0.5 ** (max(0.0, now - belief.at) / half_life_s))


def confidence(belief: EdgeBelief, now: float, half_life_s: float) -> float:
    return 1 / (1 + math.exp(-odds_at(belief, now, half_life_s)))


def judged(belief: EdgeBelief, came_back: bool, alone: float | None, now: float, half_life_s: float) -> EdgeBelief:
    """`alone`: the share of the child's failures that end by themselves as fast."""
    by_chance = ALONE if alone is None else min(max(alone, LEAST_ALONE), MOST_ALONE)
    ratio = COMES_BACK / by_chance if came_back else (1 - COMES_BACK) / (1 - by_chance)
    odds = odds_at(belief, now, half_life_s) + math.log(ratio)
    return EdgeBelief(
        max(-CERTAIN, min(CERTAIN, odds)), now, belief.came_back + came_back, belief.stayed + (not came_back)
    )
