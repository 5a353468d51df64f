"""What lists draw of a series, kept up with each row. Pure. Must not: read the store."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from opsapp.series.observations import Row
from opsapp.series.rollup import Rollup


class Strip:
    """Keeps the states of up to `most` checks from `since` (ms) on."""

    __slots__ = ("_last", "_states", "_times", "most", "since")

    def __init__(self, since: int, rows: Iterable[Row], most: int):
        self.since, self.most = since, most
        self._last: Row | None = None
        self._times, self._states = array("q"), bytearray()
        for row in rows:
            self._take(row)

    def add(self, row: Row) -> bool:
        """False of a row that comes too late."""
        if row.time < self.since or (self._last is not None and row.time <= self._last.time):
            return row == self._last
        self._take(row)
        return True

    def states(self, since: int, end: int, most: int) -> Sequence[int] | None:
        """The states of the last `most` checks in [since, end); None where that is more than is kept."""
        last = self._last
        if since < self.since or most > self.most or (last is not None and last.time >= end):
            return None
        return self._states[max(bisect_left(self._times, since), len(self._states) - most) :]

    @property
    def is_empty(self) -> bool:
        return not self._times

    def _take(self, row: Row) -> None:
        self._last = row
        if row.is_check:
            self._times.append(row.time)
            self._states.append(row.state)
            del self._times[: -self.most], self._states[: -self.most]


class MeanLine:
    """Makes the means of buckets from whole sums, so that the rounding of shorter buckets is not in them."""

    __slots__ = ("_first", "_last", "_sums", "_valued", "count", "width")

    def __init__(self, width: int, count: int, start: int, rollups: Iterable[Rollup], last: Row | None):
        """`rollups`: from `start` on, none beyond the last row."""
        self.width, self.count = width, count
        self._first, self._last = start, last
        self._sums, self._valued = array("d"), array("I")
        for rollup in rollups:
            if rollup.mean is not None:
                self._put(rollup.start, rollup.mean * rollup.valued, rollup.valued)

    def add(self, row: Row) -> bool:
        """False of a row that comes too late."""
        if row.time < self._first or (self._last is not None and row.time <= self._last.time):
            return row == self._last
        self._last = row
        if row.value is not None:
            self._put(row.time - row.time % self.width, row.value, 1)
        return True

    def means(self, start: int, end: int, width: int) -> list[float | None] | None:
        """One for each bucket in [start, end); None where they are not kept."""
        if width != self.width or start < self._first or (self._last is not None and self._last.time >= end):
            return None
        places = range((start - self._first) // self.width, (end - self._first) // self.width)
        return [self._mean(place) if place < len(self._sums) else None for place in places]

    @property
    def is_empty(self) -> bool:
        return not any(self._valued)

    def _mean(self, place: int) -> float | None:
        return round(self._sums[place] / self._valued[place], 3) if self._valued[place] else None

    def _put(self, start: int, total: float, valued: int) -> None:
        place = (start - self._first) // self.width
        missing = place + 1 - len(self._sums)
        if missing > 2 * self.count:  # after a long silence
            self._first, place, missing = start, 0, 1
            self._sums, self._valued = array("d"), array("I")
        self._sums.extend([0.0] * missing)
        self._valued.extend([0] * missing)
        self._sums[place] += total
        self._valued[place] += valued
        over = len(self._sums) - self.count
        if over > 0:
            self._first += over * self.width
            del self._sums[:over], self._valued[:over]
