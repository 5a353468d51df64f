"""One metric of one host: 28 days by the hour, in under three kilobytes. Pure, of fixed size. An hour's time is its
middle."""

from __future__ import annotations

import math
from array import array
from math import isnan
from statistics import median

from .candidates import DAY_H

HOUR = 3600.0
HOURS = 28 * DAY_H
NAN = math.nan


class MetricPast:
    """`hour`: the newest, counted from the epoch; its mean is of what came so far. Empty hours are NaN."""

    __slots__ = ("count", "first", "hour", "means")

    def __init__(self) -> None:
        self.means = array("f", [NAN]) * HOURS
        self.hour = self.first = -1  # the newest and the oldest that are known
        self.count = 0  # readings in the newest

    def take(self, at: float, mean: float, readings: int = 1) -> None:
        """What belongs to an hour that is over comes too late."""
        hour = int(at // HOUR)
        if hour < self.hour:
            return
        if hour > self.hour:
            self._open(hour)
        place, known = hour % HOURS, self.count
        before = self.means[place] * known if known else 0.0
        self.count += readings
        self.means[place] = (before + mean * readings) / self.count

    def correct(self, at: float, mean: float, readings: int) -> None:
        """All of that hour, in place of what was known: history may come late."""
        hour = int(at // HOUR)
        if hour > self.hour:
            self._open(hour)
        elif hour <= self.hour - HOURS:
            return
        elif hour < self.first:
            for skipped in range(hour, self.first):
                self.means[skipped % HOURS] = NAN
            self.first = hour
        self.means[hour % HOURS] = mean
        if hour == self.hour:
            self.count = readings

    def mean(self, hour: int) -> float:
        """NaN of an unknown hour."""
        return self.means[hour % HOURS] if self.hour - HOURS < hour <= self.hour else NAN

    def hours(self) -> list[float]:
        """The means of hours that are over, from the oldest known."""
        return [self.means[hour % HOURS] for hour in range(self.first, self.hour)]

    def usual(self, hour: int, period: int, most: int) -> float:
        """The median of that hour in so many periods before, or NaN."""
        before = (self.mean(hour - at * period) for at in range(1, most + 1))
        known = [value for value in before if not isnan(value)]
        return median(known) if known else NAN

    def _open(self, hour: int) -> None:
        if self.hour < 0 or hour - self.hour >= HOURS:
            self.first = hour
        for skipped in range(max(self.hour + 1, hour - HOURS + 1), hour + 1):
            self.means[skipped % HOURS] = NAN
        self.hour, self.count = hour, 0
        self.first = max(self.first, hour - HOURS + 1)
