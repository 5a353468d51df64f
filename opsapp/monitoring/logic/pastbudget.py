"""What was left of a monitor's error budget at a past time, from how long its states lasted until then. Pure.

Times in ms. Must not: read the series, or know what a rule makes of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from opsapp.monitoring.logic.uptime import StateTimes, budget_left

HOUR = 3_600_000


class SpentBucket(NamedTuple):
    """How long each state lasted, from `start` on for `width`."""

    start: int
    width: int
    spent: StateTimes


class BudgetPast:
    """Buckets are in the order of time."""

    def __init__(self, created_at: int, buckets: Iterable[SpentBucket]) -> None:
        self.created_at = created_at
        self.buckets = tuple(buckets)
        self._sums = tuple(accumulate((bucket.spent for bucket in self.buckets), _added, initial=StateTimes()))

    def left(self, at: int, slo: float, window_s: float) -> float | None:
        """The same as `budgets_left` says of the present: the window begins on a full hour, and no earlier than the
        monitor."""
        start = int(at - window_s * 1000) // HOUR * HOUR
        spent = StateTimes(*(late - soon for late, soon in zip(self._until(at), self._until(start), strict=True)))
        return budget_left(spent, at - max(start, self.created_at), slo)

    def _until(self, at: int) -> StateTimes:
        """Of the bucket in which `at` lies, only the share that was over by then counts."""
        place = bisect_right(self.buckets, at, key=attrgetter("start"))
        if not place:
            return StateTimes()
        last, over = self.buckets[place - 1], self._sums[place]
        rest = max(0, last.start + last.width - at)
        return StateTimes(*(done - spent * rest // last.width for done, spent in zip(over, last.spent, strict=True)))


def _added(sums: StateTimes, more: StateTimes) -> StateTimes:
    return StateTimes(*map(sum, zip(sums, more, strict=True)))
