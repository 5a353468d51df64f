"""The time that a moment's page is about, as asked for. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import NamedTuple

from opsapp.lib.durations import seconds
from opsapp.lib.problems import Invalid

HOUR, DAY = 3600, 86_400
STEPS = (60, 120, 300, 600, 900, 1800, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, DAY, 2 * DAY, 4 * DAY)
MOST_POINTS = 100
LEAST_S, LONGEST_S = 300, 366 * DAY  # what is stored is no finer than a reading
AROUND_S = HOUR
_AGO = re.compile(r"-(\d{1,5}[mhd])")


class AskedSpan(NamedTuple):
    """`live` ones end now."""

    since: int
    until: int
    at: int
    step: int
    live: bool


def span_asked(since: str | None, until: str | None, at: str | None, usual: tuple[float, float, float],
               now: float) -> AskedSpan:  # fmt: skip
    """`usual`: since, until and at where nothing is asked for."""
    wrong: dict[str, str] = {}
    given = [_read(name, text, now, wrong) for name, text in (("from", since), ("to", until), ("at", at))]
    if wrong:
        raise Invalid(wrong)
    begin, end, moment = given
    if begin is None and end is None and moment is not None and not usual[0] <= moment <= usual[1]:
        begin, end = moment - AROUND_S, moment + AROUND_S
    begin = (usual[0] if end is None else end - DAY) if begin is None else begin
    end = min(now, (usual[1] if begin < usual[1] else now) if end is None else end)
    if begin >= end:
        raise Invalid({"from": "must lie before `to`, and in the past"})
    if end - begin > LONGEST_S:
        raise Invalid({"from": "must lie at most 366 days before `to`"})
    if end - begin < LEAST_S:
        middle = (begin + end) / 2
        end = min(now, middle + LEAST_S / 2)
        begin = end - LEAST_S
    moment = usual[2] if moment is None else moment
    moment = moment if begin <= moment <= end else end
    step = next((length for length in STEPS if (end - begin) / length <= MOST_POINTS), STEPS[-1])
    return AskedSpan(int(begin), int(end), int(moment), step, live=now - end < step)


def address(since: float, until: float, at: float) -> str:
    """The query, to the second."""
    times = (datetime.fromtimestamp(told, timezone.utc) for told in (since, until, at))
    return "?from={:%Y-%m-%dT%H:%M:%SZ}&to={:%Y-%m-%dT%H:%M:%SZ}&at={:%Y-%m-%dT%H:%M:%SZ}".format(*times)


def _read(name: str, text: str | None, now: float, wrong: dict[str, str]) -> float | None:
    """Reads a time that is given in UTC, or as so long ago."""
    if not text:
        return None
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return max(0.0, now - seconds(ago[1]))
        told = datetime.fromisoformat(text.replace("Z", "+00:00"))
        if told.tzinfo is not None and 0 <= told.timestamp() <= now + LONGEST_S:
            return told.timestamp()
    except (ValueError, OverflowError):
        pass
    wrong[name] = "must be a time in UTC like 2026-01-31T22:00Z, or so long ago, like -24h"
    return None
