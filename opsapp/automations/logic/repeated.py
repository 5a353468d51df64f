"""Times of the calendar that come a second time, because somebody has set the clock back.

A schedule with an hour of its own has run for such a time and does not run again. What repeats (`lib.cron`) goes on,
as through the doubled hour of a change of the clocks; only where it comes once in the repeated time, that is not done
twice. Times that a clock jumped over were missed; where they come after all, they come for the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opsapp.lib import cron

LONGEST_S = 2 * 86400.0  # a clock that is set back by more was wrong: what came before it was set counts for nothing


class RepeatableSpan(NamedTuple):
    """Times after `since` until `until` that may come again: lived through, or jumped over."""

    since: float
    until: float
    lived: bool


def after_step(spans: Sequence[RepeatableSpan], landed: float, before: float, now: float) -> tuple[RepeatableSpan, ...]:
    """What may come again after the clock went from `before` to `now`. `landed`: where the last step had led to."""
    kept = [span for span in spans if span.until > now and span.since <= now + LONGEST_S]
    if now > before:
        return (*kept, RepeatableSpan(before, now, False))
    since = max(now, landed)
    if since < before <= now + LONGEST_S:
        kept.append(RepeatableSpan(since, before, True))
    return tuple(kept)


def comes_again(spans: Sequence[RepeatableSpan], at: float, schedule: str, zone: str, *, catch_up: bool) -> bool:
    """Whether a schedule has had its run for a time. `catch_up`: one that was jumped over was made up for."""
    return any(
        _had(span, at, schedule, zone) if span.lived else catch_up for span in spans if span.since < at <= span.until
    )


def _had(span: RepeatableSpan, at: float, schedule: str, zone: str) -> bool:
    if not cron.repeats(schedule):
        return True
    first = cron.next_time(schedule, zone, span.since)
    return first == at and cron.next_time(schedule, zone, at) > span.until
