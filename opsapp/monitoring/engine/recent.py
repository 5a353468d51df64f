"""What lists draw of monitors: the states of the last checks, and the 95th percentile of each hour of the last day.

Read from the store for one page at a time; the hours are kept for some minutes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from opsapp.monitoring.engine.register import Entry
from opsapp.monitoring.engine.reports import uptime_of
from opsapp.monitoring.engine.shownstates import BY_CHECK
from opsapp.monitoring.records import LatelyMeasured
from opsapp.runtime.node import Node
from opsapp.series import DAY, HOUR, NAMES, HistoryReader
from opsapp.tree.root import Root

LONGEST_MS = 2 * DAY  # a check a day has no strip of 30
HOURS = 24
KEPT_S = 300.0
AT_ONCE = 500  # series that are read again in one request, of those that were read a short time ago
MOST_KEPT = 20_000
UPTIME_AGE_S = 30.0
UNKNOWN_AGE_S = 1.0
STATUSES = ("pending", *NAMES[1:])


class DayRead(NamedTuple):
    read_at: float
    newest: int  # of its hours, since the epoch
    p95s: tuple[float | None, ...]  # of each hour, the newest last
    p95: float | None  # of the whole day


class Recents:
    """The last day of each series, as this node read it last."""

    def __init__(self) -> None:
        self._kept: dict[int, DayRead] = {}

    def days(self, reading: HistoryReader, wanted: list[int], now: float) -> dict[int, DayRead]:
        newest = int(now * 1000) // HOUR
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        stale = [series for series in wanted if not self._is_kept(series, newest, now - 2 * KEPT_S)]
        old = [series for series in wanted if not self._is_kept(series, newest, now - KEPT_S)]
        old = list({*stale, *old[:AT_ONCE]})
        for series, day in reading.days(int(now * 1000) + 1, old).items():
            p95s = tuple(day.p95_of(newest - back) for back in range(HOURS - 1, -1, -1))
            self._kept[series] = DayRead(now, newest, p95s, day.p95)
        return {series: self._kept[series] for series in wanted}

    def _is_kept(self, series: int, newest: int, since: float) -> bool:
        kept = self._kept.get(series)
        return kept is not None and kept.newest == newest and kept.read_at > since


KEY = "opsapp.monitoring.recents"


@lru_cache(maxsize=4096)
def _names(states: bytes) -> tuple[str, ...]:
    """Most monitors have the same past."""
    return tuple(STATUSES[state] for state in states)


def of_monitors(node: Node, root: Root, entries: list[Entry], checks: int, now: float) -> dict[str, LatelyMeasured]:
    """{monitor: what lists draw of it}"""
    reading, now_ms = node.series.reading(root), int(now * 1000)
    recents = node.registry.setdefault(KEY, Recents())
    numbers = [entry.series for entry in entries]
    measure_month(reading, entries, now)
    days = recents.days(reading, numbers, now)

    def recent_of(entry: Entry) -> LatelyMeasured:
        span = min(LONGEST_MS, (checks + 2) * entry.settings.interval * 1000)
        states = reading.last_states(entry.series, now_ms - span, now_ms + 1, checks)
        day = days[entry.series]
        return LatelyMeasured(_names(bytes(states)), day.p95s, day.p95, entry.uptime_of_month[1])

    return {entry.id: recent_of(entry) for entry in entries}


def keeping(entry: Entry, uptime: float | None) -> float:
    """The seconds to keep it, not many where its uptime was unknown and time counts by now, as after the first
    check."""
    return UNKNOWN_AGE_S if uptime is None and entry.standing.status in BY_CHECK else UPTIME_AGE_S


def measure_month(reading: HistoryReader, entries: list[Entry], now: float) -> None:
    """Uptime of the last 30 days, for all monitors at once; kept for half a minute."""
    old = [entry for entry in entries if entry.uptime_of_month[0] <= now - keeping(entry, entry.uptime_of_month[1])]
    now_ms = int(now * 1000)
    start, end = now_ms - 30 * DAY, now_ms + 1
    totals = reading.totals(start, end, [entry.series for entry in old]) if old else {}
    for entry in old:
        entry.uptime_of_month = (now, uptime_of(entry, totals.get(entry.series), start, now_ms))
