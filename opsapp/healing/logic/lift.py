"""How much more often cases recover with the heal than without it: an interval that stays true however often one looks.

For the true rates p (treated) and q (control), with the likelihood L and independent Beta(1/2, 1/2) mixtures,

    E(d) = mixture / max {L(p, q): p - q <= d}

is at most the mixture's likelihood ratio against the truth whenever p - q <= d, and that ratio is a martingale of mean
1. By Ville's inequality E(d) ever reaches 1/alpha with probability alpha at most, however the cases were assigned as
long as that did not look ahead (docs/adr/080). Most of the 5 % is spent on the lower end: promotion asks for it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

BELOW, ABOVE = 0.04, 0.01  # the chance that the truth is ever below the lower end, and above the upper
NEAR_ZERO = 1e-9
HALVINGS = 30
NO_EFFECT = 0.05  # whatever is known to help less than this is not worth the risk
VERDICTS = ("helps", "unknown", "no_effect", "harms")


class Arm(NamedTuple):
    """Cases of one kind, and how many of them recovered within the window."""

    n: int = 0
    recovered: int = 0

    def added(self, recovered: bool) -> Arm:
        return Arm(self.n + 1, self.recovered + recovered)

    @property
    def rate(self) -> float | None:
        return self.recovered / self.n if self.n else None


class Lift(NamedTuple):
    """The difference of the two rates, and between what it is with 95 % certainty."""

    lift: float | None
    low: float
    high: float

    @property
    def verdict(self) -> str:
        if self.low > 0:
            return "helps"
        if self.high < 0:
            return "harms"
        return "no_effect" if self.high < NO_EFFECT else "unknown"


def lift_of(treated: Arm, control: Arm) -> Lift:
    if not treated.n or not control.n:
        return Lift(None, -1.0, 1.0)
    difference = treated.recovered / treated.n - control.recovered / control.n
    return Lift(difference, _lower(treated, control, BELOW), -_lower(control, treated, ABOVE))


def is_better(treated: Arm, control: Arm) -> bool:
    """Whether the lower end of the lift is above 0: one look instead of a bisection."""
    return bool(treated.n and control.n) and _refuted(treated, control, 0.0, BELOW)


@lru_cache(maxsize=4096)
def _lower(first: Arm, second: Arm, alpha: float) -> float:
    """The lower end of what is not refuted for the rate of `first` less that of `second`."""
    low, high = -1.0, first.recovered / first.n - second.recovered / second.n
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _refuted(first, second, middle, alpha):
            low = middle
        else:
            high = middle
    return low


def _refuted(first: Arm, second: Arm, difference: float, alpha: float) -> bool:
    """Whether the true difference is larger than this."""
    mixture = _log_mixture(first) + _log_mixture(second)
    return mixture - _best_below(first, second, difference) >= -math.log(alpha)


def _best_below(first: Arm, second: Arm, difference: float) -> float:
    """The log-likelihood of the best pair of rates that are at most so far apart. It is concave, so the best lies where
    they were seen, or on the edge."""
    if first.recovered / first.n - second.recovered / second.n <= difference:
        return _log_likelihood(first, first.recovered / first.n) + _log_likelihood(second, second.recovered / second.n)
    low, high = max(0.0, -difference), min(1.0, 1.0 - difference)
    for _ in range(HALVINGS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if _on_edge(first, second, difference, left) < _on_edge(first, second, difference, right):
            low = left
        else:
            high = right
    return _on_edge(first, second, difference, (low + high) / 2)


def _on_edge(first: Arm, second: Arm, difference: float, rate: float) -> float:
    return _log_likelihood(first, rate + difference) + _log_likelihood(second, rate)


def _log_likelihood(arm: Arm, rate: float) -> float:
    rate = min(max(rate, NEAR_ZERO), 1 - NEAR_ZERO)
    return arm.recovered * math.log(rate) + (arm.n - arm.recovered) * math.log1p(-rate)


def _log_mixture(arm: Arm) -> float:
    failed = arm.n - arm.recovered
    whole = math.lgamma(arm.recovered + 0.5) + math.lgamma(failed + 0.5) - math.lgamma(arm.n + 1.0)
    return whole - math.log(math.pi)
