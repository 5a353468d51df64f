"""What a series comes to since its hours were merged last, kept up with each row, as `roll_up` would say. Pure. Must
not: read the store."""

from __future__ import annotations

from array import array
from bisect import insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opsapp.series.observations import MARK, Row
from opsapp.series.rollup import HOUR, INDEX, STATES, percentile


class Spell(NamedTuple):
    """`spent`: ms in each of STATES; values in order of size."""

    checks: int
    spent: list[int]
    values: Sequence[float]
    seen: bool


UNSEEN = Spell(0, [0] * len(STATES), (), seen=False)


class TailHours(NamedTuple):
    """A spell, and the p95 of each of its hours (since the epoch)."""

    spell: Spell
    p95s: dict[int, float]


class _HourSum:
    __slots__ = ("checks", "last", "spent", "values")

    def __init__(self) -> None:
        self.checks = 0
        self.spent = [0] * len(STATES)
        self.values = array("d")
        self.last: Row | None = None


class SeriesTail:
    """Sums the rows of a series from `since` (a full hour, ms) on. `before`: the last row before it."""

    __slots__ = ("_hours", "before", "last", "since")

    def __init__(self, since: int, rows: Iterable[Row], before: Row | None = None):
        self.since = since
        self.before = self.last = before
        self._hours: dict[int, _HourSum] = {}
        for row in rows:
            self._take(row)

    def add(self, row: Row) -> bool:
        """False of a row that comes too late: what is kept is not right any more."""
        if row.time < self.since:
            return False
        if self.last is not None and row.time <= self.last.time:
            return row == self.last
        self._take(row)
        return True

    def between(self, start: int, end: int, *, valued: bool = True) -> Spell | None:
        """None where the sums cannot tell: something was before `start` or is not before `end`."""
        last = self.last
        if last is not None and last.time >= end:
            return None
        if start != self.since and not self._begins_at(start):
            return None
        checks, spent = 0, [0] * len(STATES)
        for hour in self._hours.values():
            checks += hour.checks
            spent = [a + b for a, b in zip(spent, hour.spent, strict=True)]
        if last is not None and (state := INDEX.get(last.state)) is not None:
            spent[state] += max(0, min(end, last.time + last.hold * 1000) - max(last.time, self.since))
        seen = bool(self._hours) or any(spent)
        return Spell(checks, spent, self._values() if valued else (), seen)

    def hours(self, start: int, end: int) -> TailHours | None:
        """None where `between` knows nothing."""
        spell = self.between(start, end)
        p95s = {at // HOUR: percentile(hour.values) for at, hour in self._hours.items() if hour.values}
        return None if spell is None else TailHours(spell, p95s)

    def move(self, since: int, before: Row | None) -> bool:
        """What was until `since` is merged; `before`: its last row, if its state lasts. False where something else was
        seen."""
        for start in sorted(start for start in self._hours if start < since):
            self.before = self._hours.pop(start).last or self.before
        self.since = since
        last = self.before
        lasts = last is not None and last.hold > 0 and last.time + last.hold * 1000 > since
        return (last if lasts else None) == before

    @property
    def is_empty(self) -> bool:
        return not self._hours

    def _begins_at(self, start: int) -> bool:
        return start > self.since and self.before is None and min(self._hours, default=start) >= start

    def _values(self) -> Sequence[float]:
        several = [hour.values for hour in self._hours.values() if hour.values]
        if len(several) == 1:
            return several[0][:]  # as it is now, whoever adds meanwhile
        return sorted(value for values in several for value in values)

    def _take(self, row: Row) -> None:
        self._spend_until(row.time)
        hour = self._hour(row.time)
        if row.value is not None:
            insort(hour.values, row.value)
        hour.checks += not row.status & MARK
        hour.last = self.last = row

    def _spend_until(self, end: int) -> None:
        last = self.last
        if last is None or (state := INDEX.get(last.state)) is None:
            return
        at, end = max(last.time, self.since), min(end, last.time + last.hold * 1000)
        while at < end:
            step = min(end, at - at % HOUR + HOUR) - at
            self._hour(at).spent[state] += step
            at += step

    def _hour(self, time: int) -> _HourSum:
        start = time - time % HOUR
        hour = self._hours.get(start)
        if hour is None:
            hour = self._hours[start] = _HourSum()
        return hour
