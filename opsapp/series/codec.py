"""Chunks (rows of one series) and batches (observations of many), packed into columns."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from itertools import islice

from opsapp.series.columns import ColumnReader, Writer
from opsapp.series.observations import Row
from opsapp.series.rollup import STATES, Rollup
from opsapp.series.sketch import of_one, pack, pairs

CHUNK, BATCH, PLAIN_ROLLUP, PLAIN_SUMMARY, ROLLUP, SUMMARY = 1, 2, 3, 4, 5, 6  # the plain ones have no sketches
LATEST = 1 << 53  # no time is later: milliseconds beyond that are a mistake of units


def encode_chunk(rows: list) -> bytes:
    """Rows of one series, ordered by time."""
    writer = Writer()
    writer.number(len(rows))
    if rows:
        times, values, statuses, holds = zip(*rows, strict=True)
        writer.deltas(times)
        writer.floats(values)
        writer.integers(statuses)
        writer.integers(holds)
    return writer.done(CHUNK)


def decode_chunk(data: bytes) -> list:
    reader = ColumnReader(data, CHUNK)
    return list(map(Row, *_columns(reader, reader.number())))


def decode_values(data: bytes) -> list:
    """Times and values alone: a third of the work."""
    reader = ColumnReader(data, CHUNK)
    count = reader.number()
    return [reader.deltas(count), reader.floats(count)] if count else [[], []]


def encode_batch(observations: list, latest: int = LATEST) -> bytes:
    """Encodes observations in the order they came, none after `latest`."""
    writer = Writer()
    writer.number(len(observations))
    if observations:
        numbers, times, values, statuses, holds = zip(*observations, strict=True)
        _check((numbers, times, values, statuses, holds), latest)
        writer.integers(numbers)
        writer.deltas(times)
        writer.floats(values)
        writer.integers(statuses)
        writer.integers(holds)
    return writer.done(BATCH, level=1)


def decode_batch(data: bytes) -> list:
    """[(number, time, value, status, hold), ...]"""
    reader = ColumnReader(data, BATCH)
    count = reader.number()
    return list(zip(reader.integers(count), *_columns(reader, count), strict=True))


def _check(columns: tuple, latest: int) -> None:
    """Checks the columns' ranges at C speed; raises TypeError, ValueError or OverflowError."""
    numbers, times, values, statuses, holds = columns
    for code, column in zip("IQBI", (numbers, times, statuses, holds), strict=True):
        array(code, column)
    if max(times) >= latest or not all(map(math.isfinite, (value for value in values if value is not None))):
        raise ValueError("a time or value out of range")


def _columns(reader: ColumnReader, count: int) -> tuple:
    if not count:
        return [], [], [], []
    return reader.deltas(count), reader.floats(count), reader.integers(count), reader.integers(count)


def encode_rollups(rollups: list) -> bytes:
    """Buckets of one series, ordered by time."""
    writer = Writer()
    writer.number(len(rollups))
    _write_rollups(writer, rollups)
    _write_sketches(writer, rollups)
    return writer.done(ROLLUP)


def decode_rollups(data: bytes) -> list:
    reader = ColumnReader(data, ROLLUP, PLAIN_ROLLUP)
    rollups = _read_rollups(reader, reader.number())
    return _with_sketches(reader, rollups, plain=reader.kind == PLAIN_ROLLUP)


def encode_summary(entries: list) -> bytes:
    """[(number, bucket, last row)] over many series: what a span comes to, and how it ended."""
    writer = Writer()
    writer.number(len(entries))
    if entries:
        numbers, rollups, last = zip(*entries, strict=True)
        writer.deltas(numbers)
        _write_rollups(writer, rollups)
        times, values, statuses, holds = zip(*last, strict=True)
        writer.integers(times)
        writer.floats(values)
        writer.integers(statuses)
        writer.integers(holds)
        _write_sketches(writer, rollups)
    return writer.done(SUMMARY)


def decode_summary(data: bytes, *, sketches: bool = True) -> list:
    """Without sketches it takes half as long."""
    reader = ColumnReader(data, SUMMARY, PLAIN_SUMMARY)
    count = reader.number()
    numbers, rollups = reader.deltas(count), _read_rollups(reader, count)
    if not count:
        return []
    times, values = reader.integers(count), reader.floats(count)
    last = list(map(Row, times, values, reader.integers(count), reader.integers(count)))
    if sketches:
        rollups = _with_sketches(reader, rollups, plain=reader.kind == PLAIN_SUMMARY)
    return list(zip(numbers, rollups, last, strict=True))


def _write_rollups(writer: Writer, rollups: Sequence) -> None:
    if not rollups:
        return
    start, checks, valued, mean, low, high, p95, worst, spent, _ = zip(*rollups, strict=True)
    writer.deltas(start)
    for column in (checks, valued, worst):
        writer.integers(column)
    for column in (mean, low, high, p95):
        writer.floats(column)
    for column in zip(*spent, strict=True):
        writer.integers(column)


def _read_rollups(reader: ColumnReader, count: int) -> list:
    if not count:
        return []
    start = reader.deltas(count)
    checks, valued, worst = (reader.integers(count) for _ in range(3))
    mean, low, high, p95 = (reader.floats(count) for _ in range(4))
    spent = zip(*(reader.integers(count) for _ in STATES), strict=True)
    return list(map(Rollup, start, checks, valued, mean, low, high, p95, worst, spent))


def _write_sketches(writer: Writer, rollups: Sequence) -> None:
    """Behind everything else: whoever needs none does not read them. Buckets as steps."""
    sketches = [pairs(rollup.sketch) for rollup in rollups]
    buckets = [bucket for sketch in sketches for bucket, _ in sketch]
    writer.integers([len(sketch) for sketch in sketches])
    writer.deltas(buckets)
    writer.integers([count for sketch in sketches for _, count in sketch])


def _with_sketches(reader: ColumnReader, rollups: list, *, plain: bool) -> list:
    if plain:  # the best that is known of them: all values were at the p95
        return [
            rollup._replace(sketch=of_one(rollup.p95, rollup.valued)) if rollup.valued else rollup for rollup in rollups
        ]
    sizes = reader.integers(len(rollups))
    steps = zip(reader.deltas(sum(sizes)), reader.integers(sum(sizes)), strict=True)
    sized = zip(rollups, sizes, strict=True)
    return [rollup._replace(sketch=pack(dict(islice(steps, size)))) for rollup, size in sized]
