"""Answers about the waves of an outage."""

from __future__ import annotations

from opsapp.web.fields import Body, list_of, text, whole


class WaveCounts(Body):
    """One wave: how many went, and what they came to: `well`, not healed or worse (`harm`), `unknown`, or nothing was
    done (`left`). The others are at work."""

    number = whole(1)
    hosts = whole(0)
    well = whole(0)
    harm = whole(0)
    unknown = whole(0)
    left = whole(0)


class CaseWave(Body):
    """Its turn among the targets of its outage. `number` 0: it waits. Of the present wave: `wave` of `waves` and its
    `hosts`; `waiting`: for its verdict. `stopped`: why it goes no further. `compared_at`: when those that went and
    those that wait are measured, and no wave opens before; null where the wave is no trial. `counts`: the last waves,
    oldest first."""

    number = whole(0)
    wave = whole(0)
    waves = whole(0)
    hosts = whole(0)
    waiting = whole(0)
    targets = whole(0)
    stopped = text()
    compared_at = whole(null=True)
    counts = list_of(WaveCounts)
