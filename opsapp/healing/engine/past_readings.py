"""What is stored of the readings that a condition names, of one agent or monitor, in the order of time.

Raw readings as long as they are kept, roll-ups before that. Must not: judge.

A bucket knows its lowest, highest and mean value and how long each state lasted, not their order. It stands for its
lowest and its highest in such shares that the mean is right, each without a break, in the order in which the buckets
beside it go on: so an onset is found within one bucket. A bucket with less than half of what the others have is
unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from heapq import merge
from itertools import groupby, pairwise
from statistics import median
from typing import NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.node import node_of
from opsapp.runtime.serieswork import SeriesRetention
from opsapp.series import DAY, FINE, HOUR, NAMES, STATES, HistoryReader, Rollup
from opsapp.tree.root import Root
from opsapp.wire.conditions import Condition
from opsapp.wire.readings import PLUGIN

from .inventory import Member

RAW_AT_ONCE = 2 * DAY  # in one transaction
OF_MONITOR = "monitor."
STATUS, RESPONSE = "status", "response_time_ms"
RolledReading = tuple[float, float | str]  # when, and what: a plain pair, for there are many


class KeptReading(NamedTuple):
    """`name` as conditions say it, `live` as the live view does."""

    name: str
    live: str
    number: int
    is_state: bool = False


class Stretch(NamedTuple):
    """A stretch of time in ms; `width` is 0 for raw readings."""

    start: int
    end: int
    width: int

    @property
    def interval_s(self) -> float:
        """A bucket's reading is valid as long as it lasts, and not carried into a gap."""
        return (self.width / 1000 + 1) / 3


class ReadingColumn(NamedTuple):
    """Two lists, for there are millions."""

    times: Sequence[float]
    values: Sequence[float | str]


class PastReport(NamedTuple):
    at: float
    values: Mapping[str, float | str]


def kept_readings(root: Root, member: Member) -> list[KeptReading]:
    if member.is_agent:
        agent = agents_of(root).find(member.item_id)
        return [] if agent is None else [KeptReading(name, name, number) for name, number in agent.series.items()]
    monitor = monitors_of(root).find(member.item_id)
    if monitor is None:
        return []
    kept = [
        KeptReading(prefix + live, live, monitor.series, live == STATUS)
        for live in (STATUS, RESPONSE)
        for prefix in ("", OF_MONITOR)
    ]
    return kept + [KeptReading(PLUGIN + name, PLUGIN + name, metric.series) for name, metric in monitor.metrics.items()]


def needs(condition: Condition, kept: Iterable[KeptReading]) -> tuple[KeptReading, ...]:
    """What of this a condition about all such things, or about one, may name."""
    names = set(condition.names)
    return tuple(
        reading for reading in kept if reading.name in names or any(fnmatchcase(reading.name, name) for name in names)
    )


def raw_from(retention: SeriesRetention, now: int) -> int:
    """Return the time in ms since which each reading is kept."""
    return (now - retention.raw_days * DAY) // DAY * DAY


def stretches(retention: SeriesRetention, start: int, end: int, now: int) -> list[Stretch]:
    """Each of the finest readings that are kept. A day is raw as a whole, or not at all."""
    raw = raw_from(retention, now)
    fine = (now - retention.fine_days * DAY) // DAY * DAY
    parts = [Stretch(start, min(fine, end), HOUR), Stretch(max(start, fine), min(raw, end), FINE)]
    first = max(start, raw)
    while first < end:
        last = min(end, (first // DAY + 1) * DAY + RAW_AT_ONCE - DAY)
        parts.append(Stretch(first, last, 0))
        first = last
    return [part for part in parts if part.start < part.end]


def read(root: Root, kept: Sequence[KeptReading], stretch: Stretch) -> tuple[Stretch, list[ReadingColumn]]:
    """Where raw readings are missing that should be kept (the setting is newer), roll-ups serve."""
    history = node_of(root).series.reading(root)
    columns = [_column(history, reading, stretch) for reading in kept]
    if not any(column.times for column in columns) and not stretch.width:
        stretch = stretch._replace(width=FINE)
        columns = [_column(history, reading, stretch) for reading in kept]
    return stretch, columns


def _column(history: HistoryReader, kept: KeptReading, stretch: Stretch) -> ReadingColumn:
    if stretch.width:
        buckets = history.buckets(kept.number, stretch.start, stretch.end, stretch.width, percentiles=False)
        pairs = rolled_states(buckets) if kept.is_state else rolled_values(buckets, stretch.width / 1000)
        return _of_pairs(list(pairs))
    if kept.is_state:
        rows = history.rows(kept.number, stretch.start, stretch.end)
        return _of_pairs([(row.time / 1000, NAMES[row.state]) for row in rows if row.state and row.is_check])
    times, values = history.values(kept.number, stretch.start, stretch.end)
    return ReadingColumn([time / 1000 for time in times], values)


def _of_pairs(pairs: Sequence[tuple[float, float | str]]) -> ReadingColumn:
    return ReadingColumn([at for at, _ in pairs], [value for _, value in pairs])


def merged(columns: Sequence[ReadingColumn], kept: Sequence[KeptReading]) -> Iterator[PastReport]:
    """What was read at the same time belongs together."""
    named = [_named(column, reading.name) for column, reading in zip(columns, kept, strict=True)]
    by_time = groupby(merge(*named, key=lambda row: row[0]), key=lambda row: row[0])
    return (PastReport(at, {name: value for _, name, value in rows}) for at, rows in by_time)


def _named(column: ReadingColumn, name: str) -> Iterator[tuple[float, str, float | str]]:
    return ((at, name, value) for at, value in zip(column.times, column.values, strict=True))


# -- readings made again from roll-ups ---------------------------------------------------------------------------------


def rolled_values(buckets: Sequence[Rollup], width_s: float) -> Iterator[RolledReading]:
    valued = _whole([bucket for bucket in buckets if bucket.mean is not None])
    for before, bucket, after in _with_neighbours(valued):
        low, high, mean = float(bucket.low or 0.0), float(bucket.high or 0.0), float(bucket.mean or 0.0)
        at, length = bucket.start / 1000, width_s
        if high <= low:
            yield at, high
            continue
        high_s = length * (mean - low) / (high - low)
        left, right = _nearer_high(before, low, high), _nearer_high(after, low, high)
        if left and right:  # a dip
            yield from _in_turn(at, (high, high_s / 2), (low, length - high_s), (high, high_s / 2))
        elif left:
            yield from _in_turn(at, (high, high_s), (low, length - high_s))
        elif right:
            yield from _in_turn(at, (low, length - high_s), (high, high_s))
        else:  # a peak
            rest = (length - high_s) / 2
            yield from _in_turn(at, (low, rest), (high, high_s), (low, rest))


def rolled_states(buckets: Sequence[Rollup]) -> Iterator[RolledReading]:
    """First the state that the bucket before ended with, last the one that the next begins with."""
    known = _whole([bucket for bucket in buckets if any(bucket.spent)])
    last: int | None = None
    for _, bucket, after in _with_neighbours(known):
        lasted = {state: spent for state, spent in zip(STATES, bucket.spent, strict=True) if spent}
        following = set() if after is None else {s for s, spent in zip(STATES, after.spent, strict=True) if spent}
        order = sorted(lasted, key=lambda state: (state != last, state in following and state != last))
        at = bucket.start / 1000
        for state in order:
            yield at, NAMES[state]
            at += lasted[state] / 1000
        last = order[-1]


def _whole(buckets: list[Rollup]) -> list[Rollup]:
    if not buckets:
        return []
    usual = median(bucket.checks for bucket in buckets)
    return [bucket for bucket in buckets if 2 * bucket.checks >= usual]


def _with_neighbours(buckets: Sequence[Rollup]) -> Iterator[tuple[Rollup | None, Rollup, Rollup | None]]:
    padded = [None, *buckets, None]
    for (before, bucket), (_, after) in pairwise(pairwise(padded)):
        if bucket is not None:
            yield before, bucket, after


def _nearer_high(beside: Rollup | None, low: float, high: float) -> bool:
    return beside is not None and float(beside.mean or 0.0) > (low + high) / 2


def _in_turn(at: float, *parts: tuple[float, float]) -> Iterator[RolledReading]:
    for value, length in parts:
        if length > 0:
            yield at, value
        at += length
