"""Whether recorded alerts would have fired under another `for` and `cooldown_s`. Pure.

Alerts of one rule on one target belong to onsets: the condition became true, fired after `for`, and again after each
cooldown while it held.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SLACK_S = 60.0  # after a cooldown until the next alert of the same onset: reports and checks come at intervals
EARLY_S = 1.0  # times in the ledger are whole seconds


class Timing(NamedTuple):
    """`for` and `cooldown_s`."""

    hold: float
    cooldown: float


class Fired(NamedTuple):
    at: float
    until: float  # the condition held until then at least
    over: bool = False  # the condition was known false before the next alert
    cooldown_most: float = float("inf")  # what was suppressed is tried again sooner
    taken_in: bool = False  # by another case: within `cooldown_most` it comes again, as the same alert


def still_fire(alerts: Sequence[Fired], before: Timing, after: Timing) -> list[bool]:
    """Which alerts of one rule on one target, given in the order of time, still fire with the timing `after`."""
    fires = [False] * len(alerts)
    for onset in _onsets(alerts, before):
        for at in _of_onset([alerts[number] for number in onset], before, after):
            fires[onset[at]] = True
    return fires


def _onsets(alerts: Sequence[Fired], before: Timing) -> list[list[int]]:
    onsets: list[list[int]] = []
    since = 0.0  # the cooldown of the last alert counts from then
    for at, alert in enumerate(alerts):
        if onsets and _same_onset(alerts[at - 1], since, alert, before):
            onsets[-1].append(at)
            since = since if _comes_again(alerts[at - 1], since, alert, before) else alert.at
        else:
            onsets.append([at])
            since = alert.at
    return onsets


def _same_onset(last: Fired, since: float, alert: Fired, before: Timing) -> bool:
    """Whether the alert is of the last one's onset: before the cooldown is over only a new onset fires."""
    rest = min(before.cooldown, last.cooldown_most)
    is_first = since == last.at and not last.taken_in
    whole = not is_first and _within(alert.at - since, before.cooldown)
    return not last.over and (whole or _within(alert.at - last.at, rest))


def _within(passed: float, rest: float) -> bool:
    return rest - EARLY_S <= passed <= rest + SLACK_S


def _comes_again(last: Fired, since: float, alert: Fired, timing: Timing) -> bool:
    return last.taken_in and alert.at - since < timing.cooldown - EARLY_S


def _of_onset(alerts: Sequence[Fired], before: Timing, after: Timing) -> list[int]:
    """The first that comes once the condition has held long enough; where none comes, the last stands for it."""
    due = alerts[0].at - before.hold + after.hold
    if after.hold > before.hold and max(alert.until for alert in alerts) < due:
        return []
    first = next((at for at, alert in enumerate(alerts) if alert.at >= due), len(alerts) - 1)
    fired, last = [first], max(due, alerts[first].at)
    for at in range(first + 1, len(alerts)):
        rest = min(after.cooldown, alerts[at - 1].cooldown_most) if fired[-1] == at - 1 else after.cooldown
        if alerts[at].at - last >= rest - EARLY_S:
            fired.append(at)
            last = last if _comes_again(alerts[at - 1], last, alerts[at], after) else alerts[at].at
    return fired
