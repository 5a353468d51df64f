"""The betting test: whether a mean is more or less than each of some differences, however often one looks.

After each trial the wealth of a bet on a lift above d is multiplied by 1 + g (z - d) / B: z has the lift as its mean, B
is the largest loss. Where the lift is at most d, its mean over STAKES is a supermartingale from 1: it reaches 25 with a
chance of 4 % at most (docs/adr/113). Pure. Must not: know what a trial is, or remember one.
"""

from __future__ import annotations

import math
from operator import mul
from typing import NamedTuple

STAKES = (0.2, 0.35, 0.5, 0.7)
STEPS = tuple(step / 20 for step in range(-19, 20))  # the differences d that are bet on; they are their own mirror
ENOUGH, ENOUGH_BELOW = 25.0, 100.0
LEAST, MOST = 1e-25, 1e25  # wealth is kept between these
EQUAL = (1.0,) * len(STEPS) * len(STAKES)  # before the first trial


class Gain(NamedTuple):
    """What a trial brings: `z`, and the least and the most that it could have been."""

    z: float
    lowest: float
    highest: float


def of_coin(share: float, guess: float, treated: bool, recovered: bool) -> Gain:
    """`share`: the chance of being left alone."""
    z = (recovered - guess) / (1 - share) if treated else (guess - recovered) / share
    lowest = -max(guess / (1 - share), (1 - guess) / share)
    return Gain(z, lowest, max((1 - guess) / (1 - share), guess / share))


def bet_above(wealth: tuple[float, ...], gain: Gain) -> tuple[float, ...]:
    """The wealth after this gain, for each of STEPS and STAKES."""
    return _grown(wealth, [(gain.z - d) / (d - gain.lowest) for d in STEPS])


def bet_below(wealth: tuple[float, ...], gain: Gain) -> tuple[float, ...]:
    return _grown(wealth, [(d - gain.z) / (gain.highest - d) for d in STEPS])


def low_of(above: tuple[float, ...]) -> float:
    """Up to there it is refuted that the lift is no more."""
    return _refuted(_means(above), ENOUGH)


def high_of(below: tuple[float, ...]) -> float:
    return -_refuted(_means(below)[::-1], ENOUGH_BELOW)


def _grown(wealth: tuple[float, ...], gains: list[float]) -> tuple[float, ...]:
    grown = tuple(map(mul, wealth, [1 + stake * gain for gain in gains for stake in STAKES]))
    if min(grown) > LEAST and max(grown) < MOST:
        return grown
    return tuple(max(LEAST, min(MOST, held)) for held in grown)


def _means(wealth: tuple[float, ...]) -> list[float]:
    size = len(STAKES)
    return [sum(wealth[place : place + size]) / size for place in range(0, len(wealth), size)]


def _refuted(wealth: list[float], enough: float) -> float:
    """Wealth falls with the difference, so it is found between two steps."""
    for place, held in enumerate(wealth):
        if held >= enough:
            continue
        if not place:
            return -1.0
        part = math.log(enough / held) / math.log(wealth[place - 1] / held)
        return STEPS[place] - (STEPS[place] - STEPS[place - 1]) * part
    return STEPS[-1]
