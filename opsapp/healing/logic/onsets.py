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


def still_fire(alerts: Sequence[Fired], before: Timing, after: Timing) -> list[bool]:
    """Which alerts of one rule on one target, given in the order of time, still fire with the timing `after`."""
    fires = [False] * len(alerts)
    for onset in _onsets(alerts, before):
        for at in _of_onset([alerts[number] for number in onset], before, after):
            fires[onset[at]] = True
    return fires


def _onsets(alerts: Sequence[Fired], before: Timing) -> list[list[int]]:
    onsets: list[list[int]] = []
    for at, alert in enumerate(alerts):
        if onsets and _same_onset(alerts[at - 1], alert, before):
            onsets[-1].append(at)
        else:
            onsets.append([at])
    return onsets


def _same_onset(last: Fired, alert: Fired, before: Timing) -> bool:
    """Whether the alert is of the last one's onset: before the cooldown is over only a new onset fires."""
    rest = min(before.cooldown, last.cooldown_most)
    return not last.over and rest - EARLY_S <= alert.at - last.at <= rest + SLACK_S


def _of_onset(alerts: Sequence[Fired], before: Timing, after: Timing) -> list[int]:
    """The first that comes once the condition has held long enough; where none comes, the last stands for it."""
    due = alerts[0].at - before.hold + after.hold
    if after.hold > before.hold and max(alert.until for alert in alerts) < due:
        return []
    first = next((at for at, alert in enumerate(alerts) if alert.at >= due), len(alerts) - 1)
    fired, last = [first], max(due, alerts[first].at)
    for at in range(first + 1, len(alerts)):
        if alerts[at].at - last >= min(after.cooldown, alerts[at - 1].cooldown_most) - EARLY_S:
            fired.append(at)
            last = alerts[at].at
    return fired
