"""How long failures last when nobody acts (Kaplan-Meier), and how long it pays to wait before acting.

A case that something was done about, or that is not over yet, is known to have lasted at least so long: censored. A
rule with few cases of its own borrows the curve of others, the less of it the more cases it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

ENOUGH = 5  # cases without a heal before a wait is suggested
ITS_OWN = 20  # from so many cases of its own on a rule borrows nothing


class Duration(NamedTuple):
    """How long a case lasted without a heal. `recovered`: by itself, and not only up to there."""

    seconds: float
    recovered: bool


class Point(NamedTuple):
    """The share of cases that are still broken from `seconds` on."""

    seconds: float
    share: float


class BestWait(NamedTuple):
    """The wait with the least expected downtime, what that is, and what acting at once would cost more."""

    wait_s: float
    downtime_s: float
    saves_s: float


def curve(durations: Iterable[Duration]) -> list[Point]:
    """The share still broken, as steps down; from (0, 1) on."""
    known = sorted(durations, key=lambda duration: (duration.seconds, not duration.recovered))
    points, share, left = [Point(0.0, 1.0)], 1.0, len(known)
    for seconds, recovered in known:
        if recovered:
            share *= (left - 1) / left
            if points[-1].seconds == seconds:
                points.pop()
            points.append(Point(seconds, share))
        left -= 1
    return points


def area(points: Sequence[Point], until: float) -> float:
    """The expected downtime up to then when nobody acts."""
    ends = [*(point.seconds for point in points[1:]), until]
    return sum(point.share * max(0.0, min(end, until) - point.seconds) for point, end in zip(points, ends, strict=True))


def share_at(points: Sequence[Point], seconds: float) -> float:
    return next(point.share for point in reversed(points) if point.seconds <= seconds)


class LeftAlone(NamedTuple):
    """The cases of a rule that nobody acted on, and those of other rules that count while its own are few."""

    own: Sequence[Duration] = ()
    borrowed: Sequence[Duration] = ()

    @property
    def weight(self) -> float:
        """Of its own curve: one of 20 for each case."""
        return min(1.0, len(self.own) / ITS_OWN) if self.borrowed else 1.0

    @property
    def is_enough(self) -> bool:
        return len(self.own) + len(self.borrowed) >= ENOUGH

    def curve(self) -> list[Point]:
        """The share still broken: both curves at each of their steps, by their weight."""
        curves = curve(self.own), curve(self.borrowed)
        steps = sorted((point.seconds, which, point.share) for which in (0, 1) for point in curves[which])
        shares, shared = [1.0, 1.0], dict[float, float]()
        for seconds, which, share in steps:
            shares[which] = share
            shared[seconds] = self.weight * shares[0] + (1 - self.weight) * shares[1]
        points = [Point(*step) for step in shared.items()]
        return [point for at, point in enumerate(points) if not at or point.share < points[at - 1].share]


def downtimes(points: Sequence[Point], heal_s: float) -> Iterator[BestWait]:
    """What each wait up to a step of the curve costs, and saves against acting at once."""
    broken_s, before = 0.0, points[0]
    for point in points:
        broken_s += before.share * (point.seconds - before.seconds)
        expected, before = broken_s + point.share * heal_s, point
        yield BestWait(point.seconds, expected, points[0].share * heal_s - expected)


def best_wait(known: LeftAlone, heal_s: float) -> BestWait | None:
    """None without enough cases that were left alone. The best moment is at once, or right after some recovery."""
    if not known.is_enough:
        return None
    return min(downtimes(known.curve(), heal_s), key=lambda wait: (wait.downtime_s, wait.wait_s))
