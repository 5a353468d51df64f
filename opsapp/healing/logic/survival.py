"""How long failures last when nobody acts (Kaplan-Meier), and how long it pays to wait before acting.

A case that something was done about, or that is not over yet, is known to have lasted at least so long: censored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

ENOUGH = 5  # cases without a heal before a wait is suggested


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


def downtime(points: Sequence[Point], wait_s: float, heal_s: float) -> float:
    """What is to be expected of waiting so long, and healing what is broken still."""
    return area(points, wait_s) + share_at(points, wait_s) * heal_s


def best_wait(durations: Sequence[Duration], heal_s: float) -> BestWait | None:
    """None without enough cases that were left alone. The best moment is at once, or right after some recovery."""
    if len(durations) < ENOUGH:
        return None
    points = curve(durations)
    wait_s = min((point.seconds for point in points), key=lambda wait: (downtime(points, wait, heal_s), wait))
    expected = downtime(points, wait_s, heal_s)
    return BestWait(wait_s, expected, downtime(points, 0.0, heal_s) - expected)
