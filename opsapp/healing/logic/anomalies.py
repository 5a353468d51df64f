"""What does not fit a metric's past at this hour of day and week: above or below, at once or for a while.

Pure and streaming, in state of fixed size. Each way of deviating has its own tail: a metric that jumps all day needs a
larger jump.
"""

from __future__ import annotations

import math
from array import array
from math import isnan
from statistics import median
from typing import NamedTuple

from .candidates import DAY_H, WEEK_H
from .metricpast import HOUR, NAN, MetricPast
from .tails import BLOCK_S, MOST, NEVER, RarityTail

STRANGE = 6.0  # one in 10^6; where the fleet has shown another bound (budget.py), that one counts
QUIET_S = 86400.0  # one anomaly is told once
KNOWN_S = 2 * QUIET_S  # before that nothing is told
NEAR = 3  # the newest points that a jump is measured from
LASTS = 1 / 24  # how fast a lasting deviation is seen, by points
LEVEL = 1 / 288
LEARN = 1 / 576  # how fast the errors of the expectations are forgotten
JUDGED = 12  # points
COMMON = 1.5  # what is no rarer is no evidence
DAYS, WEEKS = 7, 4
PEAK_DAYS = 8


class Judgement(NamedTuple):
    """`score` from 0 to 1; `usual`: NaN where nothing was expected. `strange`: people are to be told."""

    score: float
    usual: float
    strange: bool
    above: bool


class Expected(NamedTuple):
    """The value that is expected, and the range within which nothing deviates."""

    value: float
    low: float
    high: float

    def beyond(self, value: float) -> float:
        """Below the range it is negative."""
        return value - self.high if value > self.high else min(0.0, value - self.low)


class Experts:
    """Which expectation was best lately: the level, the hour of the day, or that of the week."""

    __slots__ = ("errors", "judged")

    def __init__(self) -> None:
        self.errors = [0.0, 0.0, 0.0]
        self.judged = [0, 0, 0]

    def judge(self, value: float, expected: tuple[Expected | None, ...]) -> None:
        for at, told in enumerate(expected):
            if told is not None:
                error, known = abs(value - told.value), self.errors[at]
                self.judged[at] += 1
                self.errors[at] = known + max(LEARN, 1 / self.judged[at]) * (error - known)

    def best(self, expected: tuple[Expected | None, ...]) -> Expected | None:
        """What was not judged for long comes last."""
        told = [
            (judged < JUDGED, error, prediction)
            for judged, error, prediction in zip(self.judged, self.errors, expected, strict=True)
            if prediction is not None
        ]
        return min(told)[2] if told else None


class Detector:
    """Finds deviations of one metric. Those smaller than `least` do not matter."""

    __slots__ = (
        "begun",
        "evidence",
        "experts",
        "hour",
        "jump",
        "lasting",
        "lasts",
        "least",
        "level",
        "near",
        "peak",
        "peak_day",
        "peaks",
        "profiles",
        "quiet_until",
        "season",
        "together",
    )  # fmt: skip

    def __init__(self, least: float = 0.0) -> None:
        self.least = least
        self.experts = Experts()
        self.hour = NEVER
        self.profiles: tuple[tuple[float, ...], ...] = ()
        self.near: tuple[float, ...] = ()
        self.level = NAN
        self.lasts = self.evidence = 0.0
        self.quiet_until, self.begun = -math.inf, math.inf
        self.peak = (0.0, -math.inf)
        self.peaks, self.peak_day = array("f", [NAN]) * PEAK_DAYS, NEVER  # the rarest of each day
        self.season, self.lasting, self.jump, self.together = (TwoSidedRarity() for _ in range(4))

    def watch(self, past: MetricPast, at: float, value: float, bound: float = STRANGE) -> Judgement:
        """Judge a point before the past takes it."""
        block, expected = int(at // BLOCK_S), self._expected(past, at)
        best = self.experts.best(expected)
        self.experts.judge(value, expected)
        score, above = self._rarest(value, best, block) if best is not None else (0.0, True)
        self.evidence = max(0.0, self.evidence + score - COMMON)
        score = max(score, self.together.take(self.evidence, 1.0, block))
        self.near = (*self.near[1 - NEAR :], value)
        self.level = value if isnan(self.level) else self.level + LEVEL * (value - self.level)
        self.begun = min(self.begun, at)
        known = at >= self.begun + KNOWN_S
        if known:
            self._note(int(at // QUIET_S), score)
        strange = score >= bound and known and at >= self.quiet_until
        if strange:
            self.quiet_until = at + QUIET_S
        return Judgement(self._fresh(score, at) / MOST, best.value if best else NAN, strange, above)

    def rarest_by_day(self, since: int, until: int) -> list[float]:
        """The score of the rarest of each day; days are numbered since the epoch, `until` left out."""
        days = range(max(since, self.peak_day - PEAK_DAYS + 1), min(until, self.peak_day + 1))
        return [score for day in days if not isnan(score := self.peaks[day % PEAK_DAYS])]

    def _note(self, day: int, score: float) -> None:
        for new in range(max(self.peak_day + 1, day - PEAK_DAYS + 1), day + 1):
            self.peaks[new % PEAK_DAYS] = NAN
        self.peak_day = max(self.peak_day, day)
        known = self.peaks[day % PEAK_DAYS]
        self.peaks[day % PEAK_DAYS] = score if isnan(known) else max(known, score)

    def _rarest(self, value: float, best: Expected, block: int) -> tuple[float, bool]:
        """The rarest respect, and to which side."""
        self.lasts += LASTS * (value - best.value - self.lasts)
        ways = [(self.season, best.beyond(value)), (self.lasting, self.lasts)]
        if self.near:
            here = median(self.near)
            around = Expected(here, min(here, best.low), max(here, best.high))
            ways.append((self.jump, around.beyond(value)))
        return max((sides.take(deviation, self.least, block), deviation >= 0) for sides, deviation in ways)

    def _fresh(self, score: float, at: float) -> float:
        """Half of it where something as rare came shortly before: that is the same once more."""
        height, since = self.peak
        if score < height * max(0.0, 1 - (at - since) / QUIET_S):
            return score / 2
        self.peak = (score, at)
        return score

    def _expected(self, past: MetricPast, at: float) -> tuple[Expected | None, ...]:
        hour = int((at - HOUR / 2) // HOUR)  # the one whose middle is before
        if hour != self.hour:
            self.hour = hour
            ways = ((DAY_H, DAYS), (WEEK_H, WEEKS))
            self.profiles = tuple(
                tuple(past.usual(hour + near, period, most) for near in (-1, 0, 1, 2)) for period, most in ways
            )
        share = (at - HOUR / 2) / HOUR - hour
        level = None if isnan(self.level) else Expected(self.level, self.level, self.level)
        return (level, *(_between(profile, share) for profile in self.profiles))


class TwoSidedRarity:
    __slots__ = ("down", "up")

    def __init__(self) -> None:
        self.up, self.down = RarityTail(), RarityTail()

    def take(self, deviation: float, least: float, block: int) -> float:
        """How rare it was until now."""
        rarity = (self.up if deviation >= 0 else self.down).rarity(abs(deviation), least)
        self.up.take(max(0.0, deviation), block)
        self.down.take(max(0.0, -deviation), block)
        return rarity


def _between(profile: tuple[float, ...], share: float) -> Expected | None:
    """The hours around say how far it may come early or late."""
    before, after = profile[1], profile[2]
    if isnan(before) or isnan(after):
        return None
    known = [value for value in (profile[:3] if share < 0.5 else profile[1:]) if not isnan(value)]
    return Expected(before + share * (after - before), min(known), max(known))
