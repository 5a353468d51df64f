"""Which way of continuing a series was right on its own past, and how far off. Pure.

From origins in the past every way says what comes next, and is weighted by its errors. The errors of the weighted
forecast give the intervals; how often an interval, made of earlier origins only, held the truth is the coverage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from math import isnan
from statistics import median
from typing import NamedTuple

from .candidates import DAY_H, NAMES, WEEK_H, Origin, filled, since_step
from .runaway import Rises, Steepest, runaway

AHEAD = (1, 2, 3, 4, 6, 9, 12, 18, 24, 30, 36, 48, 60, 72)
BANDS = (0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2)  # of AHEAD: weighted together
MOST_ORIGINS = 28
LEAST_PAST_H = DAY_H  # a day has to be known before anything is tried
EVERY_H = (2, 5, 7, 11)  # so that each hour of the day is tried
FEWEST_ORIGINS = 3
FEWEST_MISSES, FEWEST_TRIED = 6, 8  # to say how often an interval held
HALF_LIFE = 8.0  # origins
SURE, LIKELY = 0.95, 0.5
GROWING = 0.12  # what gets wider the farther ahead is wider still than so few origins show
NARROWEST, WIDEST = 0.95, 1.4  # times what its misses say, if it would have held more or fewer
Said = list[tuple[float | None, ...]]  # at an origin, for each of AHEAD: what each way says
Weights = tuple[tuple[float, ...], ...]  # of the ways, by band
WORSE = 4.0  # a way whose squared error is so many times the best one's has no say


class Miss(NamedTuple):
    """How far off a forecast was, and how many origins ago (`age`) it was made."""

    age: int
    off: float


class Card(NamedTuple):
    """`sure` and `likely` belong to AHEAD: how far off 95 and 50 of 100 are."""

    weights: Weights
    sure: tuple[float, ...]
    likely: tuple[float, ...]
    coverage: float | None  # None: not tried often enough
    alarms: float | None  # false ones in 1,000 days, of those about the threshold
    steepest: Steepest | None


def origins(hours: int) -> list[int]:
    """Hours of the past to try it after, newest first."""
    most = hours - LEAST_PAST_H
    every = next((every for every in EVERY_H if most / every <= MOST_ORIGINS), EVERY_H[-1])
    return [hours - back for back in range(1, hours - LEAST_PAST_H + 1, every)][:MOST_ORIGINS]


def card(hours: Sequence[float], threshold: float | None = None) -> Card | None:
    """None where too little is known. Gaps (NaN) are not judged. `threshold`: tells its false alarms too."""
    past = filled(hours)
    cuts = origins(len(past))
    if len(cuts) < FEWEST_ORIGINS:
        return None
    told = [_told(past, cut) for cut in cuts]
    weights = _weights(hours, cuts, told)
    misses = [_misses(hours, cuts, told, weights, place) for place in range(len(AHEAD))]
    floor = 1e-6 + 1e-4 * (max(past) - min(past))
    sure = _widths(misses, SURE, floor)
    rises = Rises(past)
    alarms = None if threshold is None else _alarms(past, cuts, told, weights, rises, threshold)
    tried = _tried(misses, floor)
    sure = tuple(width * _wider(tried) for width in sure)
    likely, covered = _widths(misses, LIKELY, floor / 4), _coverage(tried)
    return Card(weights, sure, likely, covered, alarms, rises.before(len(past)))


def band_of(ahead: int) -> int:
    return BANDS[min(bisect_left(AHEAD, ahead), len(BANDS) - 1)]


def mixed(weights: Sequence[float], told: Sequence[float | None]) -> float:
    """The weighted mean of what is told by those ways that say anything."""
    known = [(weight, value) for weight, value in zip(weights, told, strict=True) if value is not None]
    whole = sum(weight for weight, _ in known)
    if not whole:  # what is believed could not say anything so early
        return median(value for _, value in known)
    return sum(weight * value for weight, value in known) / whole


def _told(past: list[float], cut: int) -> Said:
    origin = Origin(since_step(past[:cut]))
    return [origin.ahead(hour) if cut + hour <= len(past) else () for hour in AHEAD]


def _truth(hours: Sequence[float], cut: int, ahead: int) -> float | None:
    at = cut + ahead - 1
    return hours[at] if at < len(hours) and not isnan(hours[at]) else None


def _weights(hours: Sequence[float], cuts: list[int], told: list[Said]) -> Weights:
    """Weighs each way by the inverse square of its mean squared error; what could not be tried has no say."""
    weights: list[tuple[float, ...]] = []
    for band in range(max(BANDS) + 1):
        squares, counts = [0.0] * len(NAMES), [0.0] * len(NAMES)
        for age, cut in enumerate(cuts):
            fading = 0.5 ** (age / HALF_LIFE)
            for place, ahead in enumerate(AHEAD):
                truth = _truth(hours, cut, ahead) if BANDS[place] == band else None
                if truth is None:
                    continue
                for way, value in enumerate(told[age][place]):
                    if value is not None:
                        squares[way] += fading * (value - truth) ** 2
                        counts[way] += fading
        weights.append(_shares(squares, counts, weights[-1] if weights else None))
    return tuple(weights)


def _shares(squares: list[float], counts: list[float], before: tuple[float, ...] | None) -> tuple[float, ...]:
    most = max(counts)
    if not most:
        return before or (1.0,) + (0.0,) * (len(NAMES) - 1)
    errors = [square / count if count > most / 3 else None for square, count in zip(squares, counts, strict=True)]
    least = min(error for error in errors if error is not None)
    floor = least + 1e-12
    return tuple(0.0 if error is None or error > WORSE * floor else (floor / (error + 1e-12)) ** 2 for error in errors)


def _misses(hours: Sequence[float], cuts: list[int], told: list[Said], weights: Weights, place: int) -> list[Miss]:
    misses = []
    for age, cut in enumerate(cuts):
        truth = _truth(hours, cut, AHEAD[place])
        if truth is not None:
            misses.append(Miss(age, abs(truth - mixed(weights[BANDS[place]], told[age][place]))))
    return misses


def _widths(misses: list[list[Miss]], share: float, floor: float) -> tuple[float, ...]:
    """The width for each of AHEAD, pooled with its neighbours; what was not tried is wider as a random walk's. It must
    rise in the mean and not by the maximum: else all that follow would be as wide as chance made one."""
    widths: list[float] = []
    for place, ahead in enumerate(AHEAD):
        width = quantile(_near(misses, place), share)
        if width is None:
            width = widths[-1] * (ahead / AHEAD[place - 1]) ** 0.5 if widths else 0.0
        widths.append(max(width, floor))
    rising = _rising(widths)
    return tuple(width * (1 + GROWING * min(3.0, width / rising[0] - 1)) for width in rising)


def _near(misses: list[list[Miss]], place: int) -> list[Miss]:
    """With those of the neighbours."""
    return [miss for part in misses[max(0, place - 1) : place + 2] for miss in part]


def _rising(values: Sequence[float]) -> list[float]:
    """The nearest values that never fall: means where they would."""
    levels: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while levels and levels[-1][0] > mean:
            before, many = levels.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        levels.append((mean, count))
    return [mean for mean, count in levels for _ in range(count)]


def quantile(misses: list[Miss], share: float) -> float | None:
    """Weighted by age. None of fewer than three."""
    if len(misses) < 3:
        return None
    ordered = sorted((miss.off, 0.5 ** (miss.age / HALF_LIFE)) for miss in misses)
    left = share * sum(weight for _, weight in ordered)
    reached = list(accumulate(weight for _, weight in ordered))
    return ordered[min(bisect_left(reached, left), len(ordered) - 1)][0]


def _tried(misses: list[list[Miss]], floor: float) -> list[Miss]:
    """How far off newer truths were, in widths of intervals made of older origins alone."""
    tried = []
    for place in range(len(AHEAD)):
        near = _near(misses, place)
        for age, off in misses[place]:
            known = [miss for miss in near if miss.age > age]
            if len(known) < FEWEST_MISSES:
                continue
            tried.append(Miss(age, off / max(quantile(known, SURE) or 0.0, floor)))
    return tried


def _coverage(tried: list[Miss]) -> float | None:
    return sum(miss.off <= 1.0 for miss in tried) / len(tried) if len(tried) >= FEWEST_TRIED else None


def _wider(tried: list[Miss]) -> float:
    """How much wider older intervals should have been: a metric that has become restless is more so than its older
    misses."""
    wanted = quantile(tried, SURE)
    return 1.0 if wanted is None else min(WIDEST, max(NARROWEST, wanted))


def _alarms(
    past: list[float], cuts: list[int], told: list[Said], weights: Weights, rises: Rises, threshold: float
) -> float | None:
    """How often, in 1,000 days, the threshold would have been told within a day and was not met within a day and a
    half. None: tried for less than a day."""
    false, last_told = 0, len(past) + DAY_H
    tried = [(age, cut) for age, cut in enumerate(cuts) if cut + DAY_H * 3 // 2 <= len(past)]
    days = (tried[0][1] - tried[-1][1]) / DAY_H if tried else 0.0
    for age, cut in tried:
        if last_told - cut < DAY_H or past[cut - 1] >= threshold:
            continue
        if _would_tell(past[:cut], told[age], weights, rises, threshold):
            last_told = cut
            false += max(past[cut : cut + DAY_H * 3 // 2]) < threshold
    return 1000 * false / days if days >= 1 else None


def _would_tell(past: list[float], told: Said, weights: Weights, rises: Rises, threshold: float) -> bool:
    rising = runaway(past, rises.before(len(past)))
    if rising is not None and past[-1] + rising.slope * DAY_H >= threshold:
        return True
    within = range(AHEAD.index(DAY_H) + 1)
    expected = max(mixed(weights[BANDS[place]], told[place]) for place in within)
    return expected >= threshold > max(past[-WEEK_H:])
