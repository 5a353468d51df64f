"""What is remembered of one metric of one host between two looks. Pure."""

from __future__ import annotations

from math import isnan

from .anomalies import STRANGE, Detector, Judgement
from .backtest import Card, card
from .candidates import filled
from .forecast import Forecast, forecast
from .metricpast import HOUR, MetricPast
from .surge import Minutes

CARD_EVERY_H = 12
CARD_OLDEST_H = 72  # while a sudden rise lasts, it teaches nothing


class MetricOutlook:
    """Keeps what is known of one metric, in a fixed size. `salt` spreads back-tests over the hours."""

    __slots__ = ("card", "detector", "due", "minutes", "oldest", "past", "salt", "sudden", "threshold")

    def __init__(self, least: float = 0.0, salt: int = 0) -> None:
        self.past, self.detector, self.minutes = MetricPast(), Detector(least), Minutes()
        self.card: Card | None = None
        self.due = self.oldest = -1
        self.salt = salt % CARD_EVERY_H
        self.sudden = False
        self.threshold: float | None = None

    def take(self, at: float, mean: float, readings: int = 1, bound: float = STRANGE) -> Judgement:
        """Takes in a mean; means come in the order of time. `bound`: how rare before people are told."""
        verdict = self.detector.watch(self.past, at, mean, bound)
        self.past.take(at, mean, readings)
        self.minutes.take(at, mean)
        return verdict

    def look(self, threshold: float, now: float) -> Forecast | None:
        """`now`: the last reading. None while too little is known."""
        hours = self.past.hours()
        known = [value for value in hours if not isnan(value)]
        if not known:
            return None
        self._test(hours, threshold)
        if self.card is None:
            return None
        ahead = forecast(filled(hours), self.card, threshold, now, self.past.hour * HOUR, self.minutes)
        self.sudden = ahead.sudden
        return ahead

    def _test(self, hours: list[float], threshold: float) -> None:
        hour = self.past.hour
        over = hour >= self.due and not self.sudden
        if self.card is not None and threshold == self.threshold and not over and hour < self.oldest:
            return
        self.card, self.threshold = card(hours, threshold), threshold
        self.due = hour + CARD_EVERY_H - (hour + self.salt) % CARD_EVERY_H
        self.oldest = hour + CARD_OLDEST_H
