"""A rise as there was none before, and where it leads. Pure.

It is searched in the newest 3 to 24 hours, without the daily or weekly pattern: steeper than every slope before, no
step, close to a line, with either pattern taken out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from statistics import fmean, median
from typing import NamedTuple

from .candidates import DAY_H, WEEK_H, line_through

WINDOWS = (3, 4, 6, 8, 12, 18, 24)
T95 = 2.2  # errors for 95 of 100
RECENT_H = 48  # so new a rise is not compared with: it may be this one
NEWEST_H = 3  # what rises within hours is compared with what was before
LEAST_H = 60  # before that a first work day looks like one
STEEPER = 1.2
OFTEN, RARER = 0.97, 2.0  # rises that are twice as large as all but three in a hundred
STEP_SHARE = (0.6, 0.55, 0.5, 0.5, 0.5, 0.5, 0.5)  # of the rise in a single hour, it is a step
TWO_SHARE = (0.86, 0.8, 0.75, 0.75, 0.75, 0.75, 0.75)  # or in two hours in a row: one in the middle of an hour
CALMER = 0.7  # it has a day or a week if it moves so much less without
OWN = 0.6  # of the rise are not that of the day or the week
CERTAIN = 4.0  # standard errors
LINEAR = (0.9, 0.9, 0.88, 0.85, 0.8, 0.75, 0.7)  # of its variance, by window
OUTLIER = 6.0  # robust standard deviations: a step
MEMORY = 1.6  # errors of hours in a row are alike, so the slope is known less well
ROUGH = 0.03  # and no slope better than that
MOST_DAYS, MOST_WEEKS = 7, 3
YOUNG_H = WEEK_H + 2 * DAY_H  # before that a rise is news only beyond the level from which one has come down
PERIODS = (0, DAY_H, WEEK_H)


class Runaway(NamedTuple):
    """`level` above what is usual; `slope` by the hour, in 95 of 100 between `low` and `high`. `period` 0: nothing is
    usual."""

    level: float
    slope: float
    low: float
    high: float
    period: int


class Steepest(NamedTuple):
    """`rises`: the most within each window, without the period; `two_hours`: steps included; `noise`: standard
    deviation between hours."""

    period: int
    rises: tuple[float, ...]
    two_hours: float
    noise: float


def usual(past: Sequence[float], at: int, period: int) -> float:
    """Hour `at` (or soon after the past) by the periods before."""
    if not period:
        return 0.0
    at -= period * max(1, math.ceil((at - len(past) + 1) / period))
    most = MOST_DAYS if period == DAY_H else MOST_WEEKS
    return median(past[max(at % period, at - (most - 1) * period) : at + 1 : period])


def without(past: Sequence[float], period: int, begin: int) -> list[float]:
    """The past without what is usual, from hour `begin` on."""
    return [past[at] - usual(past, at, period) for at in range(begin, len(past))]


def calmest(past: Sequence[float]) -> int:
    """The period without which it moves least, by far."""
    known = [period for period in PERIODS if len(past) >= 2 * period + DAY_H]
    unrest = {period: _unrest(past, period) for period in known}
    best = min(known, key=unrest.__getitem__)
    return best if unrest[best] < CALMER * unrest[0] else 0


def _unrest(past: Sequence[float], period: int) -> float:
    left = [now - before for before, now in zip(past, past[period:], strict=False)] if period else past
    return fmean(abs(later - earlier) for earlier, later in zip(left, left[3:], strict=False)) / (1.4 if period else 1)


class Rises:
    """What a rise within each window has to exceed, up to each hour: the steepest slope so far, and twice what it
    hardly ever rises; steps left out."""

    def __init__(self, past: Sequence[float]) -> None:
        self.period = calmest(past)
        left = [0.0] * self.period + without(past, self.period, self.period)
        steps = [later - earlier for earlier, later in pairwise(left)]
        usual_step = 1.4826 * median(map(abs, steps))
        self.noise = usual_step / math.sqrt(2)
        most = OUTLIER * usual_step + 1e-9
        without_steps = list(accumulate((step if abs(step) <= most else 0.0 for step in steps), initial=0.0))
        calm = without_steps[: -min(RECENT_H, len(left) // 3)]
        in_two = (later - earlier for earlier, later in zip(left, left[2:], strict=False))
        self.two_hours = list(accumulate(in_two, max))
        self.found = []
        for window, share in zip(WINDOWS, STEP_SHARE, strict=True):
            rises = [later - earlier for earlier, later in zip(left, left[window:], strict=False)]
            slopes = (
                rise * STEEPER if rise > 0 and max(steps[at : at + window]) <= share * rise else 0.0
                for at, rise in enumerate(rises)
            )
            ordered = sorted(abs(later - earlier) for earlier, later in zip(calm, calm[window:], strict=False))
            often = ordered[int(OFTEN * (len(ordered) - 1))] * RARER if ordered else math.inf
            self.found.append(list(accumulate(slopes, max, initial=often)))

    def before(self, hours: int) -> Steepest | None:
        """Known then, without the newest; None: too little."""
        if hours < LEAST_H + self.period:
            return None
        rises = (known[max(0, hours - RECENT_H - window)] for window, known in zip(WINDOWS, self.found, strict=True))
        return Steepest(self.period, tuple(rises), self.two_hours[hours - 2 - NEWEST_H], self.noise)


def runaway(past: Sequence[float], before: Steepest | None) -> Runaway | None:
    """It must have been seen an hour ago too: chance does not last."""
    if before is None:
        return None
    if len(past) < YOUNG_H and past[-1] < max(turns(past), default=-math.inf):
        return None
    left = without(past, before.period, len(past) - WINDOWS[-1] - 2)
    rising = _rising(past, left, before)
    return rising if rising is not None and _rising(past[:-1], left[:-1], before) is not None else None


def turns(past: Sequence[float], least: float = 0.0) -> list[float]:
    """Levels of the last week from which it came down by more than `least`; newest first."""
    peaks, peak, lowest = [], -math.inf, math.inf
    for value in reversed(past[-WEEK_H:]):
        if peak == -math.inf:
            lowest = min(lowest, value)
            peak = value if value - lowest > least else peak
        elif peak - value > least:
            peaks.append(peak)
            peak, lowest = -math.inf, value
        else:
            peak = max(peak, value)
    return peaks if peak == -math.inf else [*peaks, peak]


def is_below_turn(past: Sequence[float]) -> bool:
    """It came down from about there within a week: a habit, as a rotated log. No two turns are equal, so it may go a
    little higher."""
    week = past[-WEEK_H:]
    peaks = turns(week, (max(week) - min(week)) / 3)
    return bool(peaks) and week[-1] < 2 * max(peaks) - median(peaks)


def _rising(past: Sequence[float], left: Sequence[float], before: Steepest) -> Runaway | None:
    best, certain = None, CERTAIN
    for window, most, share, two, linear in zip(WINDOWS, before.rises, STEP_SHARE, TWO_SHARE, LINEAR, strict=True):
        rise = left[-1] - left[-1 - window]
        if rise <= most or rise <= 0:
            continue
        newest = left[-1 - window :]
        if is_step(newest, share * rise, two * rise):
            continue
        line = line_through(newest, before.noise)
        if line.fit >= linear and line.slope > certain * line.error and _is_own(past, window, rise):
            certain = line.slope / max(line.error, 1e-12)
            far = max(MEMORY * T95 * line.error, ROUGH * line.slope)
            low, high = max(0.0, line.slope - far), line.slope + far
            best = Runaway(line.end, line.slope, low, high, before.period)
    return best


def is_step(values: Sequence[float], most: float, most_of_two: float) -> bool:
    steps = [later - earlier for earlier, later in pairwise(values)]
    return max(steps) > most or max(first + second for first, second in pairwise(steps)) > most_of_two


def _is_own(past: Sequence[float], window: int, rise: float) -> bool:
    """Not that of these hours a day or a week ago; where no week is known it has to rise by itself."""
    for period in (DAY_H, WEEK_H):
        if len(past) > period + window:
            end = len(past) - 1
            theirs = usual(past, end, period) - usual(past, end - window, period)
            if past[-1] - past[-1 - window] - theirs < OWN * rise:
                return False
    return len(past) > WEEK_H + window or past[-1] - past[-1 - window] >= OWN * rise
