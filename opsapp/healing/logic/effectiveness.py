"""How often an action has helped, old outcomes weighing less, and whether that speaks against trying it.

A tally for each (action, condition) on each host and for the fleet: a decision reads two, however long the history is.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.config import DAY, MOST_HOSTS, SkipSettings


class OutcomeTally(NamedTuple):
    """Older stores hold the first two alone: those outcomes weigh nothing."""

    verified: int = 0
    total: int = 0
    weight_verified: float = 0.0  # the same two with their ages, as they were at `at`
    weight: float = 0.0
    at: float = 0.0
    tried_at: float = 0.0
    hosts: tuple[tuple[str, float], ...] = ()  # the last ones to contribute, and when; newest first


NOTHING = OutcomeTally()


def tried(tally: OutcomeTally, now: float) -> OutcomeTally:
    """Whatever is known of it."""
    return tally._replace(tried_at=max(tally.tried_at, now))


def counted(tally: OutcomeTally, verified: bool, host: str, now: float, skip: SkipSettings) -> OutcomeTally:
    aged = weighed(tally, now, skip)
    others = [other for other in tally.hosts if other[0] != host]
    return OutcomeTally(
        tally.verified + verified,
        tally.total + 1,
        aged.verified + verified,
        aged.total + 1,
        max(tally.at, now),
        tally.tried_at,
        ((host, now), *others)[:MOST_HOSTS],
    )


class Weighed(NamedTuple):
    verified: float
    total: float


def weighed(tally: OutcomeTally, now: float, skip: SkipSettings) -> Weighed:
    """Each half after `half_life_s`."""
    left = _left(now - tally.at, skip)
    return Weighed(tally.weight_verified * left, tally.weight * left)


def _left(age: float, skip: SkipSettings) -> float:
    return float(0.5 ** (max(0.0, age) / skip.half_life_s))


def enough(tally: OutcomeTally, now: float, skip: SkipSettings) -> bool:
    """Whether there are enough outcomes, which are on average no older than a half-life."""
    return tally.total >= skip.outcomes and weighed(tally, now, skip).total >= skip.outcomes / 2


def against(host: OutcomeTally, fleet: OutcomeTally, now: float, skip: SkipSettings) -> str:
    """What speaks against the action, in words with its numbers; "" when it may be tried. The host's own outcomes judge
    where there are enough; else the fleet's, of enough hosts."""
    if enough(host, now, skip):
        return _said(host, "on this host", now, skip)
    hosts = sum(_left(now - at, skip) >= 0.25 for _, at in fleet.hosts)
    if enough(fleet, now, skip) and hosts >= skip.hosts:
        return _said(fleet, f"on {hosts} hosts", now, skip)
    return ""


def _said(tally: OutcomeTally, where: str, now: float, skip: SkipSettings) -> str:
    verified, total = weighed(tally, now, skip)
    again = tally.tried_at + skip.retry_s - now
    if verified / total >= skip.rate or again <= 0:
        return ""
    return (
        f"{verified / total:.0%} verified {where}, the limit is {skip.rate:.0%} (outcomes weigh {total:.1f}, each half "
        f"after {skip.half_life_s / DAY:g} days); tried again in {again / DAY:.1f} days"
    )
