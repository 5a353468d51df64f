"""Which targets depend on which, by the times at which they failed. Pure.

`child` depends on `parent` if nearly every failure of the parent came with one of the child. The direction comes from
who fails alone (a child does, a parent hardly) and who failed first, as far as the cadence of checks shows.

A moment at which many failed counts less. What another target explains (a common parent, a grandparent) is no pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb, exp, lgamma, log
from typing import NamedTuple

TOGETHER_S = 120.0
LEAST_SUPPORT = 5  # joint failures
LEAST_WEIGHT = 3.0  # of the joint failures together
LEAST_CONFIDENCE = 0.7  # of the failures of the parent
LEAST_LIFT = 3.0
LEAST_SURE = 0.93
FEW = 4  # a moment at which no more targets failed counts in full
MANY = 200  # one at which more failed is not looked at
MOST_TARGETS = 2000
RARELY_ALONE = 9.0  # as many failures of a parent with its child are assumed, to one without
CAUTION = 0.5  # how much of what failures alone say is believed: a parent's failure need not reach its child


class Pair(NamedTuple):
    target: str
    parent: str
    support: int
    confidence: float  # how much of the parent's failures came with one of the target
    lift: float
    first: float  # how often the parent failed first, of the joint failures
    sure: float  # how likely the direction is the right one


class Moment(NamedTuple):
    """What one failure counts, and how much later each other target failed."""

    weight: float
    lags: Mapping[str, float]


Moments = Mapping[str, Sequence[Moment]]


def candidates(failures: Mapping[str, Sequence[float]], span: float, together: float = TOGETHER_S) -> list[Pair]:
    """`failures`: sorted times by target, over `span` seconds. The surest first."""
    often = {name: times for name, times in failures.items() if len(times) >= LEAST_SUPPORT}
    names = sorted(often, key=lambda name: (-len(often[name]), name))[:MOST_TARGETS]
    moments = _moments({name: often[name] for name in names}, together)
    parents: dict[str, dict[str, Pair]] = {}
    together_once = {(name, other) for name, own in moments.items() for moment in own for other in moment.lags}
    for parent, child in sorted(together_once):
        pair = _judge(child, parent, moments, span, together)
        if pair is not None:
            parents.setdefault(child, {})[parent] = pair
    sure = {
        child: {name: pair for name, pair in _unexplained(child, pairs, moments).items() if pair.sure >= LEAST_SURE}
        for child, pairs in parents.items()
    }
    direct = [pair for pairs in sure.values() for pair in pairs.values() if not _is_indirect(pair, sure)]
    return sorted(direct, key=lambda pair: (-pair.sure, -pair.confidence, -pair.support, pair.target, pair.parent))


def _moments(failures: Mapping[str, Sequence[float]], together: float) -> dict[str, list[Moment]]:
    """Finds the moments of each target's failures in one sweep through time."""
    ordered = sorted((time, name) for name, times in failures.items() for time in times)
    moments: dict[str, list[Moment]] = {name: [] for name in failures}
    begin = end = 0
    for time, name in ordered:
        while ordered[begin][0] < time - together:
            begin += 1
        while end < len(ordered) and ordered[end][0] <= time + together:
            end += 1
        moments[name].append(_moment(name, time, ordered[begin:end] if end - begin <= MANY else []))
    return moments


def _moment(name: str, time: float, near: Sequence[tuple[float, str]]) -> Moment:
    lags: dict[str, float] = {}
    for at, other in near:
        if other.partition("/")[0] != name.partition("/")[0]:  # a host and what is on it say nothing new
            lags[other] = min(lags.get(other, at - time), at - time, key=abs)
    return Moment(min(1.0, FEW / (len(lags) + 1)), lags)


def _judge(child: str, parent: str, moments: Moments, span: float, together: float) -> Pair | None:
    """The child must fail with nearly every failure of the parent, and more often than by chance."""
    joint = [moment for moment in moments[parent] if child in moment.lags]
    together_weight = sum(moment.weight for moment in joint)
    alone = sum(moment.weight for moment in moments[parent]) - together_weight
    confidence = together_weight / (together_weight + alone)
    if len(joint) < LEAST_SUPPORT or together_weight < LEAST_WEIGHT or confidence < LEAST_CONFIDENCE:
        return None
    lift = confidence / min(1.0, len(moments[child]) * 2 * together / max(span, 1.0))
    if lift < LEAST_LIFT:
        return None
    child_alone = sum(moment.weight for moment in moments[child] if parent not in moment.lags)
    first = sum(moment.weight * _first(moment.lags[child]) for moment in joint)
    odds = CAUTION * _by_alone(together_weight, alone, child_alone) + _by_order(first, together_weight)
    sure = 1 / (1 + exp(-max(-50.0, min(50.0, odds))))
    part = first / together_weight
    return Pair(child, parent, len(joint), round(confidence, 3), round(lift, 2), round(part, 3), round(sure, 3))


def _first(lag: float) -> float:
    """1, 0, or half where both failed at once."""
    return 0.5 if lag == 0 else float(lag > 0)


def _by_alone(joint: float, parent_alone: float, child_alone: float) -> float:
    """Log odds: few failures alone are expected of the parent, any number of the child."""

    def fit(alone: float) -> float:
        return lgamma(joint + RARELY_ALONE) + lgamma(alone + 1) - lgamma(joint + RARELY_ALONE + alone + 1)

    return fit(parent_alone) - fit(child_alone)


def _by_order(first: float, joint: float) -> float:
    """Log odds that the parent is first more often than not, with no prior knowledge."""
    before, after = round(first), round(joint) - round(first)
    count = before + after + 1
    less = sum(comb(count, firsts) for firsts in range(before + 1, count + 1))
    return log(2**count - less) - log(less)


def _unexplained(child: str, pairs: Mapping[str, Pair], moments: Moments) -> dict[str, Pair]:
    """Without parents whose failures reach the child only with another parent's."""
    return {
        parent: pair
        for parent, pair in pairs.items()
        if not any(
            _explains(other, parent, child, moments) and not _explains(parent, other, child, moments)
            for other in pairs
            if other != parent
        )
    }


def _explains(other: str, parent: str, child: str, moments: Moments) -> bool:
    """Whether the child hardly fails when `parent` fails without `other`."""
    without = [moment for moment in moments[parent] if other not in moment.lags]
    return len(without) >= 2 and sum(child in moment.lags for moment in without) < len(without) / 2


def _is_indirect(pair: Pair, sure: Mapping[str, Mapping[str, Pair]]) -> bool:
    """A parent of another parent is reason enough."""
    return any(pair.parent in sure.get(other, {}) for other in sure[pair.target])
