"""A rise that began within 90 minutes and meets a threshold within hours. Pure.

Hours would show it too late. So it is searched in means of five minutes: a line, no step, that still rises, by more
than ever within two hours. Longer rises: runaway.py.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from .candidates import DAY_H, WEEK_H, FittedLine, line_through
from .metricpast import HOUR
from .runaway import MEMORY, OWN, STEEPER, T95, YOUNG_H, Runaway, Steepest, is_step, turns, usual

FINE, DAY = 300.0, 86400.0
SPANS = (5, 7, 9, 12, 15, 18)  # points
AGO = 36  # points: what is so old is no part of the rise that is looked for
KEPT = AGO + SPANS[-1]
DAYS = 14
WITHIN_H = 4.0  # what is farther away is left to the hours
STRAIGHT = 0.93  # of its variance is that of the line
CERTAIN = 6.0  # standard errors
STEP, TWO_STEPS = 0.45, 0.7  # of the rise in five minutes, or in ten, it is a step
NOISE = 8.0  # standard deviations of the points around their way
LASTS = 0.5  # its newest third is at least so steep beside all of it
ROUGH = 0.1  # so few points do not say the slope any better


class Minutes:
    """The newest points, and by day the largest rise within 90 minutes, which hours do not show."""

    __slots__ = ("day", "rises", "times", "values")

    def __init__(self) -> None:
        self.times, self.values = array("d"), array("f")
        self.rises, self.day = array("f", [0.0]) * DAYS, -1

    def take(self, at: float, value: float) -> None:
        self.times.append(at)
        self.values.append(value)
        if len(self.times) > KEPT:
            self.times.pop(0)
            self.values.pop(0)
            self._note(int(self.times[-1 - AGO] // DAY))

    def _note(self, day: int) -> None:
        for new in range(max(self.day + 1, day - DAYS + 1), day + 1):
            self.rises[new % DAYS] = 0.0
        self.day = max(self.day, day)
        rise = self.values[-1 - AGO] - min(self.values[:-AGO])
        self.rises[day % DAYS] = max(rise, self.rises[day % DAYS])


class Stretch(NamedTuple):
    """Without a gap."""

    times: Sequence[float]
    values: Sequence[float]

    def newest(self, count: int) -> Stretch:
        return Stretch(self.times[-count:], self.values[-count:])

    @property
    def rise(self) -> float:
        return self.values[-1] - self.values[0]


def surge(
    minutes: Minutes, past: Sequence[float], before: Steepest | None, threshold: float, end: float
) -> Runaway | None:
    """It must have been seen five minutes ago too. `past` ends at `end`; the points go on."""
    if before is None or not minutes.times:
        return None
    points = _without_gap(minutes)
    earlier = Stretch(points.times[:-1], points.values[:-1])
    usual_rise = max(before.two_hours, *minutes.rises)
    line = _rising(points, past, before.noise, usual_rise, threshold)
    if line is None or _rising(earlier, past, before.noise, usual_rise, threshold) is None:
        return None
    if len(past) < YOUNG_H and points.values[-1] < max(turns(past), default=points.values[-1]):
        return None
    slope = line.slope * HOUR / FINE
    far = max(MEMORY * T95 * line.error * HOUR / FINE, ROUGH * slope)
    since_middle = (points.times[-1] - end) / HOUR + 0.5  # of the newest hour that is over
    return Runaway(line.end - slope * since_middle, slope, max(0.0, slope - far), slope + far, 0)


def _without_gap(minutes: Minutes) -> Stretch:
    begin = 0
    for at, (left, right) in enumerate(pairwise(minutes.times), 1):
        if right - left > 1.5 * FINE:
            begin = at
    return Stretch(minutes.times[begin:], minutes.values[begin:])


def _rising(
    points: Stretch, past: Sequence[float], noise: float, usual_rise: float, threshold: float
) -> FittedLine | None:
    """The most certain one."""
    best, least = None, max(STEEPER * usual_rise, NOISE * _noise(points.values))
    for count in SPANS:
        if count > len(points.values):
            break
        part = points.newest(count)
        if part.rise <= least or is_step(part.values, STEP * part.rise, TWO_STEPS * part.rise):
            continue
        line = line_through(part.values, noise / count)
        hour = line.slope * HOUR / FINE
        if line.fit < STRAIGHT or line.slope <= CERTAIN * line.error or not _lasts(part.values, line.slope):
            continue
        if line.end + WITHIN_H * hour < threshold or not _is_own(past, hour):
            continue
        if best is None or line.slope * best.error > best.slope * line.error:
            best = line
    return best


def _noise(values: Sequence[float]) -> float:
    steps = [later - earlier for earlier, later in pairwise(values)]
    usual_step = median(steps) if steps else 0.0
    return 1.4826 * median(abs(step - usual_step) for step in steps) / math.sqrt(2) if steps else 0.0


def _lasts(values: Sequence[float], slope: float) -> bool:
    newest = max(2, len(values) // 3)
    return values[-1] - values[-1 - newest] >= LASTS * slope * newest


def _is_own(past: Sequence[float], slope: float) -> bool:
    """Other days and weeks do not rise so at these hours."""
    now = len(past)
    for period in (DAY_H, WEEK_H):
        if now > period + 2:
            theirs = max(usual(past, now + at, period) - usual(past, now + at - 1, period) for at in (-1, 0, 1))
            if slope - theirs < OWN * slope:
                return False
    return True
