"""Rows summed up over buckets of time. Pure.

A p95 from rows is exact (nearest rank). Of merged buckets it comes from sketches, at most 2 % away; without the sketch
of a part nobody knows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from opsapp.series import sketch
from opsapp.series.observations import DEGRADED, DOWN, MAINTENANCE, MARK, PAUSED, UP, Row, worst

FINE, HOUR, DAY = 300_000, 3_600_000, 86_400_000
STATES = (UP, DEGRADED, DOWN, MAINTENANCE, PAUSED)  # what is left of a bucket's length is unknown
INDEX = {state: index for index, state in enumerate(STATES)}
NOTHING = (0,) * len(STATES)


class Rollup(NamedTuple):
    start: int
    checks: int
    valued: int  # observations that had a value
    mean: float | None  # None of these four when nothing in it had a value
    low: float | None
    high: float | None
    p95: float | None
    worst: int  # of the states observed in it; a state that lasts from before only shows in `spent`
    spent: tuple  # ms in each of STATES
    sketch: sketch.Sketch = sketch.EMPTY  # of its values

    @property
    def median(self) -> float | None:
        """The median of the values, at most 2 % away from the true one."""
        if not self.sketch or self.low is None or self.high is None:
            return None
        return min(max(sketch.percentile(self.sketch, 0.5), self.low), self.high)

    @property
    def up(self) -> int:
        return self.spent[0] + self.spent[1]

    @property
    def down(self) -> int:
        return self.spent[2]


class _Cell:
    __slots__ = ("checks", "spent", "states", "values")

    def __init__(self):
        self.checks = 0
        self.values: list[float] = []
        self.spent = [0] * len(STATES)
        self.states: set[int] = set()


def roll_up(
    rows: Iterable[Row], within: tuple[int, int], width: int, carry: Row | None = None, *, percentiles: bool = True
) -> list[Rollup]:
    """Aligned to the epoch, `within` [start, end), rows ordered by time; `carry`: the row before them. Empty buckets
    are left out."""
    cells: dict[int, _Cell] = {}
    state = carry
    start = within[0]
    for row in rows:
        time, value, status, _ = row
        _spend(cells, state, (start, time), width)
        cell = _cell(cells, time - time % width)
        if value is not None:
            cell.values.append(value)
        cell.checks += not status & MARK
        cell.states.add(status & ~MARK)
        state = row
    _spend(cells, state, within, width)
    return [_close(begin, cells[begin], percentiles=percentiles) for begin in sorted(cells)]


def merge(rollups: Iterable[Rollup], width: int = 0) -> list[Rollup]:
    """Without a width one bucket over all."""
    groups: dict[int, list[Rollup]] = {}
    for rollup in rollups:
        groups.setdefault(rollup.start - rollup.start % width if width else 0, []).append(rollup)
    return [_join(begin if width else parts[0].start, parts) for begin, parts in sorted(groups.items())]


def percentile(values: Sequence[float], share: float = 0.95) -> float:
    """Nearest rank; of at least one value."""
    ordered = sorted(values)
    return ordered[ceil(share * len(ordered)) - 1]


def _cell(cells: dict, begin: int) -> _Cell:
    cell = cells.get(begin)
    if cell is None:
        cell = cells[begin] = _Cell()
    return cell


def _spend(cells: dict, row: Row | None, within: tuple[int, int], width: int) -> None:
    """Adds the time for which `row`'s state lasted to the buckets."""
    if row is None:
        return
    time, _, status, hold = row
    index = INDEX.get(status & ~MARK)
    if index is None or not hold:
        return
    at, until = within
    at, until = (time if time > at else at), (until if until < time + hold * 1000 else time + hold * 1000)
    while at < until:
        begin = at - at % width
        step = min(until, begin + width) - at
        _cell(cells, begin).spent[index] += step
        at += step


def _close(begin: int, cell: _Cell, *, percentiles: bool) -> Rollup:
    values = cell.values
    if not values:
        return Rollup(begin, cell.checks, 0, None, None, None, None, worst(cell.states), tuple(cell.spent))
    mean = round(sum(values) / len(values), 3)
    p95, picture = (percentile(values), sketch.sketch(values)) if percentiles else (None, sketch.EMPTY)
    return Rollup(
        begin, cell.checks, len(values), mean, min(values), max(values), p95,
        worst(cell.states), tuple(cell.spent), picture,
    )  # fmt: skip


def _join(begin: int, parts: list[Rollup]) -> Rollup:
    if len(parts) == 1:
        return parts[0]._replace(start=begin)
    mean = low = high = p95 = None
    values = sketch.EMPTY
    valued: list = [part for part in parts if part.valued]
    count = sum(part.valued for part in valued)
    if valued:
        mean = round(sum(part.mean * part.valued for part in valued) / count, 3)
        low, high = min(part.low for part in valued), max(part.high for part in valued)
        if all(part.sketch for part in valued):
            values = sketch.merged(part.sketch for part in valued)
            p95 = min(max(sketch.percentile(values), low), high)
    checks, states = sum(part.checks for part in parts), {part.worst for part in parts}
    spent = tuple(map(sum, zip(*(part.spent for part in parts), strict=True)))
    return Rollup(begin, checks, count, mean, low, high, p95, worst(states), spent, values)
