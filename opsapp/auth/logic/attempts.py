"""Counts attempts in a sliding window; too many lock it, and further attempts do not lengthen the lock."""

from __future__ import annotations

import math
from typing import NamedTuple


class AttemptLimit(NamedTuple):
    """`attempts` within `window_s`; one more locks for `lock_s`."""

    attempts: int
    window_s: float
    lock_s: float


class Counted(NamedTuple):
    """When one address or name tried, and until when it is locked."""

    times: tuple[float, ...] = ()
    locked_until: float = 0.0


def remaining(counted: Counted, now: float) -> int:
    """Seconds that the lock still lasts; 0 without one."""
    return max(0, math.ceil(counted.locked_until - now))


def attempt(counted: Counted, limit: AttemptLimit, now: float) -> Counted:
    """One more try. Within a lock nothing changes; the try that exceeds the limit begins one."""
    if remaining(counted, now):
        return counted
    recent = tuple(at for at in counted.times if at > now - limit.window_s)
    if len(recent) >= limit.attempts:
        return Counted((), now + limit.lock_s)
    return Counted((*recent, now))


def is_over(counted: Counted, limit: AttemptLimit, now: float) -> bool:
    return not remaining(counted, now) and all(at <= now - limit.window_s for at in counted.times)
