"""When a window is on, and when it comes next: one evaluator for both families. Epoch seconds.

It has a first occurrence and, with a cron expression, further ones of the same length. It may be switched on by hand,
and ended early: what had begun by then is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from opsapp.lib import cron

MAINTENANCE, HEALING = "maintenance", "healing"
OVERRIDES = ("disabled", "notify", "approve", "execute")
LOWERING = ("release", "hands_off", "here")  # healing acts one level lower, or asks more: `healing.logic.stakes`
ACTIONS = ("suppress", "queue", "notify_only", *LOWERING)
LONGEST_S = 366 * 86400.0  # of each time of a recurring window
LONGEST_ONCE_S = 100 * LONGEST_S
YEARS = range(1970, 9000)  # of which every zone and every next time can be reckoned
_WALL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?")


class WindowPlan(NamedTuple):
    """`scope` None: everything; `forced`: on by hand, from and until; what began by `void_until` was ended early."""

    id: str
    family: str
    name: str
    start: float
    end: float
    scope: frozenset[str] | None
    effect: str  # one of OVERRIDES or ACTIONS
    cron: str | None = None
    length: float = 0.0
    zone: str = "UTC"
    enabled: bool = True
    forced: tuple[float, float] | None = None
    void_until: float = 0.0
    by: str = ""


class Occurrence(NamedTuple):
    start: float
    end: float


class Active(NamedTuple):
    plan: WindowPlan
    span: Occurrence


def read_wall(text: str) -> datetime:
    """ISO 8601 without a zone; else ValueError."""
    if not _WALL.fullmatch(text):
        raise ValueError("must be a date and time without a zone, like 2026-01-31T22:00:00")
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is not a date and time that exists") from None


def wall_problem(text: str) -> str | None:
    """Why `instant` would not take it."""
    try:
        wall = read_wall(text)
    except ValueError as problem:
        return str(problem)
    return None if wall.year in YEARS else f"must be in the years {YEARS[0]} to {YEARS[-1]}"


def instant(text: str, zone: str) -> float:
    """A time that a clock change skips is the moment of the change; of two, the first."""
    return cron.moment(read_wall(text), zone)


def length_of(start: str, end: str) -> float:
    """The seconds from start to end by the clock on the wall."""
    return (read_wall(end) - read_wall(start)).total_seconds()


def wrong_span(length: float, recurring: str | None) -> str | None:
    if length <= 0:
        return "must be after start"
    if recurring is None:
        return "must be at most 100 years after start" if length > LONGEST_ONCE_S else None
    return "must be at most a year after start, for it recurs" if length > LONGEST_S else None


def current(plan: WindowPlan, now: float) -> Occurrence | None:
    """The occurrence under way now; of several the one that ends last."""
    spans = [span for span in _begun(plan, now) if span.start <= now < span.end]
    return max(spans, key=lambda span: span.end, default=None)


def _begun(plan: WindowPlan, now: float) -> Iterator[Occurrence]:
    if plan.forced is not None:
        yield Occurrence(*plan.forced)
    if not plan.enabled:
        return
    if plan.start > plan.void_until:
        yield Occurrence(plan.start, plan.end)
    tick = _last_tick(plan, now) if plan.cron else None
    if tick is not None and tick > plan.void_until:
        yield Occurrence(tick, tick + plan.length)


def _last_tick(plan: WindowPlan, now: float) -> float | None:
    """That may still last. Nearby first: a tick a minute must not cost a walk through all."""
    earliest = max(plan.start, now - plan.length)
    back = 90.0
    while True:
        after = max(earliest, now - back)
        tick, last = cron.next_time(plan.cron or "", plan.zone, after), None
        while tick <= now:
            tick, last = cron.next_time(plan.cron or "", plan.zone, tick), tick
        if last is not None or after == earliest:
            return last
        back *= 16


def following(plan: WindowPlan, now: float) -> Occurrence | None:
    """Not begun yet."""
    if not plan.enabled:
        return None
    if plan.start > now:
        return Occurrence(plan.start, plan.end)
    if not plan.cron:
        return None
    tick = cron.next_time(plan.cron, plan.zone, now)
    return Occurrence(tick, tick + plan.length)


def occurrences(plan: WindowPlan, since: float, until: float, most: int) -> list[Occurrence]:
    """The first so many. One that was ended early ends then."""
    on = current(plan, since)
    spans = [] if on is None else [on]
    if plan.forced is not None and since < plan.forced[0] < until:
        spans.append(Occurrence(*plan.forced))
    at = since
    while len(spans) < most:
        span = following(plan, at)
        if span is None or span.start >= until:
            break
        spans.append(span)
        at = span.start
    return sorted(_ended_early(plan, span) for span in spans)[:most]


def _ended_early(plan: WindowPlan, span: Occurrence) -> Occurrence:
    return span._replace(end=plan.void_until) if span.start <= plan.void_until < span.end else span


def steady_until(plan: WindowPlan, now: float) -> float:
    """Nothing changes by itself."""
    on, to_come = current(plan, now), following(plan, now)
    ends = [span for span in (on and on.end, to_come and to_come.start) if span is not None]
    return min(ends, default=float("inf"))


def active(plans: Iterable[WindowPlan], now: float) -> list[Active]:
    return [Active(plan, span) for plan in plans if (span := current(plan, now)) is not None]


def covers(plan: WindowPlan, ids: Iterable[str]) -> bool:
    return plan.scope is None or not plan.scope.isdisjoint(ids)
