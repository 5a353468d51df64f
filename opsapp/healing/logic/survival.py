"""How long failures last when nobody acts (Kaplan-Meier), and how long it pays to wait. A case that was acted on, or
goes on, is censored. A rule with few cases borrows others' curve, less with each own case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opsapp.wire.dataclass import frozen

ENOUGH = 5  # cases without a heal before a wait is suggested
ITS_OWN = 20  # from so many cases of its own on a rule borrows nothing


class Duration(NamedTuple):
    """Without a heal. `recovered`: by itself; else censored."""

    seconds: float
    recovered: bool


@frozen
class StillBroken:
    """From `seconds` on."""

    seconds: float
    share: float


class BestWait(NamedTuple):
    """The least expected downtime, and what acting at once would cost more."""

    wait_s: float
    downtime_s: float
    saves_s: float


def curve(durations: Iterable[Duration]) -> list[StillBroken]:
    """Still broken, in steps down from (0, 1)."""
    known = sorted(durations, key=lambda duration: (duration.seconds, not duration.recovered))
    points, share, left = [StillBroken(0.0, 1.0)], 1.0, len(known)
    for seconds, recovered in known:
        if recovered:
            share *= (left - 1) / left
            if points[-1].seconds == seconds:
                points.pop()
            points.append(StillBroken(seconds, share))
        left -= 1
    return points


def area(points: Sequence[StillBroken], until: float) -> float:
    """Expected downtime when nobody acts."""
    ends = [*(point.seconds for point in points[1:]), until]
    return sum(point.share * max(0.0, min(end, until) - point.seconds) for point, end in zip(points, ends, strict=True))


def share_at(points: Sequence[StillBroken], seconds: float) -> float:
    return next(point.share for point in reversed(points) if point.seconds <= seconds)


class LeftAlone(NamedTuple):
    """`borrowed` counts while `own` are few."""

    own: Sequence[Duration] = ()
    borrowed: Sequence[Duration] = ()

    @property
    def weight(self) -> float:
        """One of 20 for each own case."""
        return min(1.0, len(self.own) / ITS_OWN) if self.borrowed else 1.0

    def curve(self) -> list[StillBroken]:
        """Both curves at each of their steps, by weight."""
        curves = curve(self.own), curve(self.borrowed)
        steps = sorted((point.seconds, which, point.share) for which in (0, 1) for point in curves[which])
        shares, shared = [1.0, 1.0], dict[float, float]()
        for seconds, which, share in steps:
            shares[which] = share
            shared[seconds] = self.weight * shares[0] + (1 - self.weight) * shares[1]
        points = [StillBroken(*step) for step in shared.items()]
        return [point for at, point in enumerate(points) if not at or point.share < points[at - 1].share]


def downtimes(points: Sequence[StillBroken], heal_s: float) -> Iterator[BestWait]:
    """Yields the expected downtime of each wait up to a step of the curve."""
    broken_s, before = 0.0, points[0]
    for point in points:
        broken_s += before.share * (point.seconds - before.seconds)
        expected, before = broken_s + point.share * heal_s, point
        yield BestWait(point.seconds, expected, points[0].share * heal_s - expected)


def best_wait(known: LeftAlone, heal_s: float) -> BestWait | None:
    """The wait with the least downtime: to heal at once, or right after some recovery."""
    if len(known.own) + len(known.borrowed) < ENOUGH:
        return None
    return min(downtimes(known.curve(), heal_s), key=lambda wait: (wait.downtime_s, wait.wait_s))
