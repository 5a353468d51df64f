"""Ways to continue a series of hours: its level, day, week, trend. Pure. backtest.py tries which to believe. A past is
a list of hourly means without gaps (`filled`), the newest last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import isnan
from statistics import fmean, median
from typing import NamedTuple

DAY_H, WEEK_H = 24, 168
LONG_H = 7 * DAY_H
FEWEST_H = 2 * DAY_H
SHORT_GAP_H = 6
LINE_H = 3 * DAY_H
FADING = 0.88  # by the hour: how fast what is special now is forgotten
STEP = 4.0  # of the usual differences between days
STEP_OF_LINE = 0.5  # a step leaves half of the error that a line through it leaves, at most
STEP_SEEN_H = 2

NAMES = ("level", "line", "drift", "yesterday", "day", "day now", "day and trend", "last week", "week", "week now")


def filled(hours: Sequence[float]) -> list[float]:
    """Short gaps (NaN) by a line, longer ones as the day before; a short one at the end goes on as the day before did.
    Of at least one known hour."""
    known = [at for at, value in enumerate(hours) if not isnan(value)]
    made = [hours[known[0]]] * known[0]
    for at, following in zip(known, [*known[1:], len(hours)], strict=True):
        made.append(hours[at])
        gap = following - at - 1
        for left in range(gap, 0, -1):
            if gap <= SHORT_GAP_H and following < len(hours):
                made.append(made[-1] + (hours[following] - made[-1]) / (left + 1))
            elif gap <= SHORT_GAP_H:
                made.append(made[-1] + (made[-DAY_H] - made[-DAY_H - 1] if len(made) > DAY_H else 0.0))
            else:
                made.append(made[-DAY_H] if len(made) >= DAY_H else made[-1])
    return made


def level_step(past: Sequence[float]) -> tuple[int, float] | None:
    """(for how many hours, by how much) the level has changed at once within the last day."""
    if len(past) < 3 * DAY_H:
        return None
    begin = max(DAY_H, len(past) - LONG_H)
    changes = [now - before for before, now in zip(past[begin - DAY_H : -DAY_H], past[begin:], strict=True)]
    newest, older = changes[-DAY_H:], changes[:-DAY_H]
    usual = 1.4826 * median(abs(change) for change in older) + 1e-9
    if max(map(abs, newest[-STEP_SEEN_H:])) < STEP * usual:
        return None
    whole = fmean(newest)
    total = sum((change - whole) ** 2 for change in newest)
    best, step = total, None
    left, left_squares = 0.0, 0.0
    right, right_squares = sum(newest), sum(change * change for change in newest)
    for cut, change in enumerate(newest[: DAY_H - STEP_SEEN_H], 1):
        left, left_squares = left + change, left_squares + change * change
        right, right_squares = right - change, right_squares - change * change
        after = DAY_H - cut
        error = left_squares - left * left / cut + right_squares - right * right / after
        if error < best:
            best, step = error, (after, right / after - left / cut)
    if step is None or abs(step[1]) < STEP * usual:
        return None
    line = line_through(newest[max(0, DAY_H - 2 * step[0]) :])  # all before it lies flat
    if best > line.left * STEP_OF_LINE:
        return None
    return step


def since_step(past: list[float]) -> list[float]:
    """The past as if the present level had held before, so that a step that was forgotten is not foretold again."""
    step = level_step(past)
    if step is None:
        return past
    hours, by = step
    return [value + by for value in past[:-hours]] + past[-hours:]


class Origin:
    """Made once, asked for many hours ahead."""

    __slots__ = (
        "day",
        "days_off",
        "drift",
        "last",
        "last_week",
        "level",
        "line",
        "now_off",
        "trend",
        "week",
        "week_now_off",
        "week_off",
        "yesterday",
    )  # fmt: skip

    def __init__(self, past: Sequence[float]) -> None:
        newest = past[-DAY_H:]
        self.level = fmean(past[-3:])
        self.yesterday = newest
        days = [past[-begin : len(past) - begin + DAY_H] for begin in range(DAY_H, min(len(past), LONG_H) + 1, DAY_H)]
        self.day = [fmean(hour) for hour in zip(*days, strict=True)]
        mean = fmean(newest)
        self.days_off = mean - fmean(self.day)
        self.now_off = self.level - fmean(self.day[-3:])
        self.trend = trend(past)
        self.line = line_through(past[-LINE_H:])
        self.drift = (mean - fmean(past[-2 * DAY_H : -DAY_H])) / DAY_H if len(past) >= FEWEST_H else 0.0
        self.week: Sequence[float] | None = None
        if len(past) >= WEEK_H + DAY_H:
            weeks = [past[-begin : len(past) - begin + WEEK_H] for begin in range(WEEK_H, len(past) + 1, WEEK_H)]
            self.last_week = weeks[0]
            self.week = [fmean(hour) for hour in zip(*weeks, strict=True)] if len(weeks) > 1 else weeks[0]
            # Of the week that ends now the newest day is the newest day itself: what it should have been is a week old.
            before = past[-WEEK_H - DAY_H : -WEEK_H]
            self.week_off = mean - fmean(before)
            self.week_now_off = self.level - fmean(before[-3:])

    def ahead(self, hour: int) -> tuple[float | None, ...]:
        """What each way foretells for that hour, in the order of NAMES."""
        by_day, fading = (hour - 1) % DAY_H, FADING**hour
        day = self.day[by_day]
        shifted = day + self.days_off
        now = day + self.now_off * fading + self.days_off * (1 - fading)
        first = (
            self.level,
            self.line.end + self.line.slope * hour,
            self.level + self.drift * hour,
            self.yesterday[by_day],
            shifted,
            now,
            now + self.trend * hour,
        )
        if self.week is None:
            return (*first, None, None, None)
        by_week = (hour - 1) % WEEK_H
        off = self.week_now_off * fading + self.week_off * (1 - fading)
        return (*first, self.last_week[by_week], self.week[by_week] + self.week_off, self.week[by_week] + off)


class FittedLine(NamedTuple):
    slope: float
    end: float
    error: float  # the slope's standard error; what is usual between hours counts, however straight these few are
    fit: float  # the part of the variance that it explains
    left: float  # the squares of what it leaves, together


def line_through(values: Sequence[float], noise: float = 0.0) -> FittedLine:
    """By least squares."""
    count = len(values)
    middle, centre = (count - 1) / 2, fmean(values)
    squares = count * (count * count - 1) / 12
    slope = sum((at - middle) * value for at, value in enumerate(values)) / squares
    whole = sum((value - centre) ** 2 for value in values)
    left = max(0.0, whole - slope * slope * squares)
    spread = math.sqrt(left / (count - 2))
    fit = 1 - left / whole if whole else 0.0
    return FittedLine(slope, centre + slope * middle, max(spread, noise) / math.sqrt(squares), fit, left)


def trend(past: Sequence[float]) -> float:
    """The change by the hour: the median difference between days, which a clean-up does not move."""
    if len(past) < FEWEST_H:
        return 0.0
    days = [fmean(past[end - 6 : end]) for end in range(len(past), max(6, len(past) - LONG_H - DAY_H), -6)]
    steps = [later - earlier for later, earlier in zip(days, days[4:], strict=False)]
    return median(steps) / DAY_H if steps else 0.0
