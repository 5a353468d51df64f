"""Which targets fail together: support and confidence from the times at which they failed.

Pure. `a` depends on `b` is what somebody may conclude when nearly every failure of `a` came with one of `b`, while `b`
fails without `a` too, or first. Chance alone makes pairs as well: the lift says how much more often than that.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

TOGETHER_S = 120.0
LEAST_SUPPORT = 5  # joint failures
LEAST_CONFIDENCE = 0.8  # of the failures of the dependant
LEAST_LIFT = 3.0
MOST_TARGETS = 2000


class Pair(NamedTuple):
    """`target` seems to depend on `parent`."""

    target: str
    parent: str
    support: int
    confidence: float
    lift: float
    first: float  # how often the parent failed first, of the joint failures


def candidates(failures: Mapping[str, Sequence[float]], span: float, together: float = TOGETHER_S) -> list[Pair]:
    """`failures`: sorted times by target, over a span of seconds. The surest first."""
    often = {name: times for name, times in failures.items() if len(times) >= LEAST_SUPPORT}
    names = sorted(often, key=lambda name: -len(often[name]))[:MOST_TARGETS]
    found: dict[frozenset[str], Pair] = {}
    for target, parent in _meetings(often, names, together):
        pair = _judge(target, parent, often, span, together)
        key = frozenset((target, parent))
        if pair is not None and (key not in found or _weight(pair) > _weight(found[key])):
            found[key] = pair
    return sorted(found.values(), key=_weight, reverse=True)


def _weight(pair: Pair) -> tuple[float, float, int, str]:
    return pair.confidence, pair.first, pair.support, pair.target


def _meetings(failures: Mapping[str, Sequence[float]], names: Sequence[str], together: float) -> set[tuple[str, str]]:
    """Pairs that have failed together at all: a sweep over all failures in the order of time."""
    ordered = sorted((time, name) for name in names for time in failures[name])
    pairs: set[tuple[str, str]] = set()
    begin = 0
    for time, name in ordered:
        while ordered[begin][0] < time - together:
            begin += 1
        for _, other in ordered[begin : begin + 200]:  # a storm of everything says nothing about two of them
            if other != name and other.partition("/")[0] != name.partition("/")[0]:
                pairs.update(((name, other), (other, name)))
    return pairs


def _judge(
    target: str, parent: str, failures: Mapping[str, Sequence[float]], span: float, together: float
) -> Pair | None:
    own, others = failures[target], failures[parent]
    joint, first = 0, 0
    for time in own:
        at = bisect_left(others, time - together)
        if at < len(others) and others[at] <= time + together:
            joint += 1
            first += others[at] <= time
    confidence = joint / len(own)
    chance = min(1.0, len(others) * 2 * together / max(span, 1.0))
    lift = confidence / chance if chance else float("inf")
    if joint < LEAST_SUPPORT or confidence < LEAST_CONFIDENCE or lift < LEAST_LIFT:
        return None
    return Pair(target, parent, joint, round(confidence, 3), round(lift, 2), round(first / joint, 3))
