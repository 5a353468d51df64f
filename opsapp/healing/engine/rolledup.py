"""Readings made again from roll-ups: what a bucket of time may have held, for who asks a condition of long ago.

A bucket knows its lowest, highest and mean value and how long each state lasted, not their order. It stands for its
lowest and its highest in such shares that the mean is right, each without a break, and in the order in which the
buckets beside it go on. So an onset is found within one bucket. A time of no bucket stays unknown, and so does a bucket
with less than half of what the others have: it says nothing of the rest of its time. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from opsapp.series import NAMES, STATES, Rollup

Reading = tuple[float, float | str]  # when, and what: a plain pair, for there are many


def values(buckets: Sequence[Rollup], width_s: float) -> Iterator[Reading]:
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


def states(buckets: Sequence[Rollup]) -> Iterator[Reading]:
    """The state that the bucket before ended with comes first, the one that the next begins with last."""
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


def _in_turn(at: float, *parts: tuple[float, float]) -> Iterator[Reading]:
    for value, length in parts:
        if length > 0:
            yield at, value
        at += length
