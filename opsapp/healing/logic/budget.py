"""How rare a point has to be before people are told, so that false tells stay within a budget for the fleet. Pure.

The score of a point says how rare it should be. How rare such scores are in this fleet, its last week says: of every
metric the rarest point of each day, since one metric is told once a day. The bound lets so many of them through.
"""

from __future__ import annotations

from collections.abc import Iterable

from .anomalies import STRANGE, Detector

LOWEST, HIGHEST = 5.0, 9.0  # one in 10^9 is told whatever else happened within the week
MARGIN = 0.05
WEEK_DAYS = 7
FEWEST = 30  # days of metrics; fewer say little
DAY = 86400.0


def bound_of(detectors: Iterable[Detector], a_week: float, now: float) -> float:
    """Of the seven days before this one. Among them were true tells too, so the false ones are fewer."""
    today = int(now // DAY)
    known = [detector.rarest_by_day(today - WEEK_DAYS, today) for detector in detectors]
    scores = sorted((score for days in known for score in days), reverse=True)
    if len(scores) < FEWEST:
        return STRANGE
    told = int(a_week * max(map(len, known)) / WEEK_DAYS)
    return min(HIGHEST, max(LOWEST, scores[told] + MARGIN)) if told < len(scores) else LOWEST
