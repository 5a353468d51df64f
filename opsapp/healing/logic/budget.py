"""How rare a point has to be before people are told, so that false tells stay within the fleet's budget. Pure.

Of every metric the rarest point of each day of the last week shows how rare scores really are. The bound lets so many
through.
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
    """The bound that the scores of the seven days before this one give. True tells are among them, so false ones are
    fewer."""
    today = int(now // DAY)
    known = [detector.rarest_by_day(today - WEEK_DAYS, today) for detector in detectors]
    scores = sorted((score for days in known for score in days), reverse=True)
    if len(scores) < FEWEST:
        return STRANGE
    told = int(a_week * max(map(len, known)) / WEEK_DAYS)
    return min(HIGHEST, max(LOWEST, scores[told] + MARGIN)) if told < len(scores) else LOWEST
