"""Where a metric is heading, how sure that is, and when a threshold is met. Pure. Puts together candidates.py,
backtest.py, runaway.py and surge.py."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from opsapp.wire.dataclass import frozen

from .backtest import AHEAD, Card, band_of, mixed
from .candidates import DAY_H, Origin, since_step
from .metricpast import HOUR
from .runaway import Runaway, is_below_turn, runaway, usual
from .surge import Minutes, surge

TRUSTED_COVERAGE = 0.8
HOURS_AHEAD = range(1, AHEAD[-1] + 1)
TREND_SEEN = 0.5  # of the interval's half width: a smaller trend is not told beyond what was tried
FADING, UNSURE = 0.9, 0.5  # by the hour, what the newest reading was off
DAYS_BEYOND = (4, 5, 6, 8, 10, 12, 15, 18, 22, 26, 30)


@frozen
class FanPoint:
    """95 of 100 outcomes lie between `low` and `high`, half of them between the inner two."""

    at: float
    expected: float
    low: float
    half_low: float
    half_high: float
    high: float


class Forecast(NamedTuple):
    """`hits_at` None: not heading there. 95 of 100 times it is between `low` and `high`; `high` None: perhaps never.
    `sudden`: a rise as never before."""

    now: float
    threshold: float
    hits_at: float | None
    low: float | None
    high: float | None
    likely_by: float | None  # in three of four outcomes it is met by then
    coverage: float | None
    alarms: float | None  # false ones in 1,000 days, in back-tests
    spread: float  # 95 of 100 readings of the next hour lie within it
    sudden: bool
    usual_high: bool  # it was beyond the threshold within the last week too: that is no news
    turned: bool  # it came down from where it is now within the last week
    fan: tuple[FanPoint, ...]

    @property
    def met(self) -> tuple[float, ...]:
        """What words say, a picture has to show."""
        return tuple(at for at in (self.hits_at, self.low, self.high, self.likely_by) if at is not None)

    def point(self, at: float) -> FanPoint:
        """Between the fan's points."""
        after = bisect_right(self.fan, at, key=lambda known: known.at)
        if after in (0, len(self.fan)):
            return self.fan[max(0, after - 1)]
        left, right = self.fan[after - 1 : after + 1]
        share = (at - left.at) / (right.at - left.at)
        ends = zip(vars(left).values(), vars(right).values(), strict=True)
        return FanPoint(*(before + share * (later - before) for before, later in ends))

    def within(self, seconds: float, now: float) -> bool:
        """Whether that is known well enough."""
        if self.hits_at is None or self.hits_at - now > seconds or self.now >= self.threshold:
            return False
        if self.likely_by is None or self.likely_by - now > 2 * seconds:
            return False
        return self.sudden or (not self.usual_high and not self.turned and (self.coverage or 0.0) >= TRUSTED_COVERAGE)


def forecast(
    past: Sequence[float], card: Card, threshold: float, now: float, end: float, minutes: Minutes | None = None
) -> Forecast:
    """`past` by the hour without gaps, up to `end`; `now`: the last reading; `minutes`: the newest points."""
    rising = runaway(past, card.steepest)
    if rising is None and minutes is not None and now < threshold:
        rising = surge(minutes, past, card.steepest, threshold, end)
    if rising is not None and past[-1] < threshold:
        fan = _straight(past, card, rising, end)
    else:
        rising, fan = None, _usual(list(past), card, now, end)
    hits_at = _meets(fan, threshold, "expected")
    low = high = likely_by = None
    if hits_at is not None:
        likely_by = _meets(fan, threshold, "half_low")
        low = _meets(fan, threshold, "high")
        high = _meets(fan, threshold, "low")
    usual_high = max(past[-7 * DAY_H :]) >= threshold
    return Forecast(
        now,
        threshold,
        hits_at,
        low,
        high,
        likely_by,
        card.coverage,
        card.alarms,
        card.sure[0],
        rising is not None,
        usual_high,
        is_below_turn(past),
        fan,
    )


def _straight(past: Sequence[float], card: Card, rising: Runaway, end: float) -> tuple[FanPoint, ...]:
    """The error grows with the hours."""

    def at(hours: int) -> FanPoint:
        base = usual(past, len(past) + hours - 1, rising.period)
        expected = base + rising.level + rising.slope * hours
        noise = at_hour(card.sure, hours)
        low, high = (math.hypot((rising.slope - end) * hours, noise) for end in (rising.low, rising.high))
        return FanPoint(
            end + (hours - 0.5) * HOUR,
            expected,
            expected - low,
            expected - low / 3,
            expected + high / 3,
            expected + high,
        )

    return tuple(at(hours) for hours in (*HOURS_AHEAD, *(day * DAY_H for day in DAYS_BEYOND)))


def seen_at(forecast: Forecast, at: float) -> Forecast:
    """Nothing is foretold of the past."""
    if forecast.now >= forecast.threshold:
        return forecast._replace(hits_at=at, low=at, high=at, likely_by=at)
    hits_at, low, high, likely_by = (
        None if time is None else max(time, at)
        for time in (forecast.hits_at, forecast.low, forecast.high, forecast.likely_by)
    )
    return forecast._replace(hits_at=hits_at, low=low, high=high, likely_by=likely_by)


def at_hour(widths: Sequence[float], hours: int) -> float:
    """Between what was tried; beyond, as a random walk's."""
    if hours >= AHEAD[-1]:
        return widths[-1] * math.sqrt(hours / AHEAD[-1])
    place = bisect_right(AHEAD, hours) - 1
    left, right = AHEAD[place], AHEAD[place + 1]
    return widths[place] + (widths[place + 1] - widths[place]) * (hours - left) / (right - left)


def _usual(past: list[float], card: Card, now: float, end: float) -> tuple[FanPoint, ...]:
    origin = Origin(since_step(past))
    expected = [mixed(card.weights[band_of(hour)], origin.ahead(hour)) for hour in HOURS_AHEAD]
    off = now - expected[0]
    if abs(off) <= card.sure[0]:
        off = 0.0  # else the newest reading lies where nobody expected it: near there for some hours, and who knows
    fan = []
    for hour, value in zip(HOURS_AHEAD, expected, strict=True):
        kept = off * FADING ** (hour - 1)
        extra = max(abs(kept), abs(off - kept)) * UNSURE
        sure, likely = at_hour(card.sure, hour) + extra, at_hour(card.likely, hour) + extra / 3
        fan.append(_point(end + (hour - 0.5) * HOUR, value + kept, sure, likely))
    return (*fan, *_beyond(fan))


def _point(at: float, expected: float, sure: float, likely: float) -> FanPoint:
    return FanPoint(at, expected, expected - sure, expected - likely, expected + likely, expected + sure)


def _beyond(fan: list[FanPoint]) -> Iterator[FanPoint]:
    """Goes on with the trend of the last day that was tried, where there is one."""
    day_before, last = fan[-1 - DAY_H], fan[-1]
    slope = (last.expected - day_before.expected) / DAY_H
    sure, likely = last.high - last.expected, last.half_high - last.expected
    if abs(slope) * AHEAD[-1] < TREND_SEEN * sure:
        return
    for day in DAYS_BEYOND:
        hours = day * DAY_H - AHEAD[-1]
        wider = math.sqrt(day * DAY_H / AHEAD[-1])
        yield _point(last.at + hours * HOUR, last.expected + slope * hours, sure * wider, likely * wider)


def _meets(fan: Sequence[FanPoint], threshold: float, edge: str) -> float | None:
    first = fan[0]
    if getattr(first, edge) >= threshold:
        return first.at
    for left, right in pairwise(fan):
        before, after = getattr(left, edge), getattr(right, edge)
        if after >= threshold:
            share = (threshold - before) / (after - before)
            return left.at + share * (right.at - left.at)
    return None
