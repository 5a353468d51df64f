"""What is stored of the readings that a condition names, of one agent or monitor, in the order of time.

Raw readings as long as they are kept, roll-ups before that. Reads only, some days in a transaction. Must not: judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from heapq import merge
from itertools import groupby
from typing import NamedTuple

from opsapp.agents.resources import agents_of
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.node import node_of
from opsapp.runtime.serieswork import SeriesRetention
from opsapp.series import DAY, FINE, HOUR, NAMES, HistoryReader
from opsapp.tree.root import Root
from opsapp.wire.conditions import Condition
from opsapp.wire.readings import PLUGIN

from . import rolledup
from .inventory import Member

RAW_AT_ONCE = 2 * DAY  # in one transaction
OF_MONITOR = "monitor."
STATUS, RESPONSE = "status", "response_time_ms"


class KeptReading(NamedTuple):
    """A reading of which there is a history. `name` as conditions say it, `live` as the live view does."""

    name: str
    live: str
    number: int
    is_state: bool = False


class Stretch(NamedTuple):
    """A part of the time, in ms, and how its readings are read: `width` is 0 for raw ones."""

    start: int
    end: int
    width: int

    @property
    def interval_s(self) -> float:
        """Of a bucket: so that its reading is valid as long as it lasts, and is not carried into a gap."""
        return (self.width / 1000 + 1) / 3


class ReadingColumn(NamedTuple):
    """One reading over time: two lists, for there are millions."""

    times: Sequence[float]
    values: Sequence[float | str]


class PastReport(NamedTuple):
    """What was read at one time, by the names of the condition."""

    at: float
    values: Mapping[str, float | str]


def kept_readings(root: Root, member: Member) -> list[KeptReading]:
    """Of everything that is kept of an agent or a monitor."""
    item_id = member.subject.partition(":")[2]
    if member.is_agent:
        agent = agents_of(root).get(item_id)
        return [] if agent is None else [KeptReading(name, name, number) for name, number in agent.series.items()]
    monitor = monitors_of(root).get(item_id)
    if monitor is None:
        return []
    kept = [
        KeptReading(prefix + live, live, monitor.series, live == STATUS)
        for live in (STATUS, RESPONSE)
        for prefix in ("", OF_MONITOR)
    ]
    return kept + [KeptReading(PLUGIN + name, PLUGIN + name, metric.series) for name, metric in monitor.metrics.items()]


def bound_to(condition: Condition, kept: Iterable[KeptReading], member: Member) -> list[Condition]:
    """The condition about each service, container or mount of which something is kept."""
    if condition.family is None:
        return [condition]
    names = [reading.name for reading in kept]
    return [condition.bind(name) for name in condition.bindings(names)] if member.is_agent else []


def needs(condition: Condition, kept: Iterable[KeptReading]) -> tuple[KeptReading, ...]:
    """What of this a condition about all such things, or about one, may name."""
    names = set(condition.names)
    return tuple(
        reading for reading in kept if reading.name in names or any(fnmatchcase(reading.name, name) for name in names)
    )


def raw_from(retention: SeriesRetention, now: int) -> int:
    """In ms: since then each reading is kept."""
    return (now - retention.raw_days * DAY) // DAY * DAY


def stretches(retention: SeriesRetention, start: int, end: int, now: int) -> list[Stretch]:
    """The time in pieces, each of the finest readings that are kept of it. A day is raw as a whole, or not at all."""
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
    """What is there. Where raw readings are missing that should be kept (the setting is newer), roll-ups serve."""
    history = node_of(root).series.reading(root)
    columns = [_column(history, reading, stretch) for reading in kept]
    if not any(column.times for column in columns) and not stretch.width:
        stretch = stretch._replace(width=FINE)
        columns = [_column(history, reading, stretch) for reading in kept]
    return stretch, columns


def _column(history: HistoryReader, kept: KeptReading, stretch: Stretch) -> ReadingColumn:
    if stretch.width:
        buckets = history.buckets(kept.number, stretch.start, stretch.end, stretch.width, percentiles=False)
        pairs = rolledup.states(buckets) if kept.is_state else rolledup.values(buckets, stretch.width / 1000)
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
