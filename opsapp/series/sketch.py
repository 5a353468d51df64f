"""A small picture of many values, of which two make one: how often each bucket was met, whose widths grow. Pure.

Its percentiles (nearest rank) are at most 2 % off, however many were merged. Values nearer to 0 than `SMALLEST` count
as 0.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import ceil, exp, log

ERROR = 0.019  # what is left of the 2 % is for rounding
GAMMA = (1 + ERROR) / (1 - ERROR)  # each bucket reaches so many times as far as the one before
WIDTH = log(GAMMA)
SMALLEST = 1e-9
SHIFT = 1 - ceil(log(SMALLEST) / WIDTH)  # so that the bucket of SMALLEST is 1; negative values have negative buckets
LARGEST = 709.0  # its exponential is still a float

Sketch = bytes  # (bucket, count) by bucket, four bytes each
EMPTY: Sketch = b""
SHARE = 0.95


def sketch(values: Iterable[float]) -> Sketch:
    counts: dict[int, int] = {}
    for value in values:
        bucket = _bucket(value)
        counts[bucket] = counts.get(bucket, 0) + 1
    return pack(counts)


def of_one(value: float, count: int) -> Sketch:
    return pack({_bucket(value): count})


def merged(sketches: Iterable[Sketch]) -> Sketch:
    counts: dict[int, int] = {}
    for sketch in sketches:
        for bucket, count in pairs(sketch):
            counts[bucket] = counts.get(bucket, 0) + count
    return pack(counts)


def percentile(of: Sketch, share: float = SHARE) -> float:
    """The percentile of a sketch that holds at least one value."""
    counted = pairs(of)
    rank = ceil(share * sum(count for _, count in counted))
    reached = accumulate(count for _, count in counted)
    return next(_value(bucket) for (bucket, _), seen in zip(counted, reached, strict=True) if seen >= rank)


def joint_percentile(of: Sketch, values: Sequence[float]) -> float:
    """The percentile as if the sketch had the sorted values too. It counts from the largest down, because few are above
    a high percentile."""
    numbers = array("i", of)
    whole = sum(numbers[1::2]) + len(values)
    above = whole - ceil(SHARE * whole)
    at, place = len(numbers) - 2, len(values) - 1
    while True:
        bucket = _bucket(values[place]) if place >= 0 else None
        if bucket is not None and (at < 0 or bucket > numbers[at]):
            count, place = 1, place - 1
        else:
            bucket, count, at = numbers[at], numbers[at + 1], at - 2
        above -= count
        if above < 0:
            return _value(bucket)


def pack(counts: dict[int, int]) -> Sketch:
    return array("i", [number for pair in sorted(counts.items()) for number in pair]).tobytes()


def pairs(of: Sketch) -> list[tuple[int, int]]:
    numbers = array("i", of)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _bucket(value: float) -> int:
    size = abs(value)
    if size < SMALLEST:
        return 0
    bucket = ceil(log(size) / WIDTH) + SHIFT
    return bucket if value > 0 else -bucket


def _value(bucket: int) -> float:
    if not bucket:
        return 0.0
    middle = exp(min((abs(bucket) - SHIFT) * WIDTH, LARGEST)) * 2 / (1 + GAMMA)
    return float(f"{middle if bucket > 0 else -middle:.5g}")
