"""What lists draw of monitors: the states of the last checks, and the 95th percentile of each hour of the last day.

Computed for one page of a list at a time, from what is stored; the hours are kept for some minutes.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.monitoring.engine.register import Entry
from opsapp.monitoring.logic.uptime import percent
from opsapp.monitoring.records import LatelyMeasured
from opsapp.runtime.node import Node
from opsapp.series import DAY, HOUR, NAMES, HistoryReader, merge
from opsapp.tree.root import Root

LONGEST_MS = 2 * DAY  # a check a day has no strip of 30
HOURS = 24
KEPT_S = 300.0
MOST_KEPT = 20_000
STATUSES = ("pending", *NAMES[1:])


class DayRead(NamedTuple):
    """A series' last day, as it was read."""

    read_at: float
    p95s: dict[int, float | None]  # hour since the epoch -> its p95
    p95: float | None  # of the whole day


class Recents:
    """The last day of each series, as this node read it last."""

    def __init__(self) -> None:
        self._kept: dict[int, DayRead] = {}

    def day(self, reading: HistoryReader, series: int, now: float) -> DayRead:
        kept = self._kept.get(series)
        if kept is None or kept.read_at <= now - KEPT_S:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            now_ms = int(now * 1000)
            hours = reading.buckets(series, now_ms - DAY, now_ms + 1, HOUR)
            whole = merge(hours)
            p95s = {rollup.start // HOUR: rollup.p95 for rollup in hours}
            kept = self._kept[series] = DayRead(now, p95s, whole[0].p95 if whole else None)
        return kept


KEY = "opsapp.monitoring.recents"


def of_monitors(node: Node, root: Root, entries: list[Entry], checks: int, now: float) -> dict[str, LatelyMeasured]:
    """{monitor: what lists draw of it}"""
    reading, now_ms = node.series.reading(root), int(now * 1000)
    recents = node.registry.setdefault(KEY, Recents())
    month = reading.totals(now_ms - 30 * DAY, now_ms + 1, [entry.series for entry in entries])
    recent_of: dict[str, LatelyMeasured] = {}
    for entry in entries:
        span = min(LONGEST_MS, (checks + 2) * entry.settings.interval * 1000)
        states = reading.last_states(entry.series, now_ms - span, now_ms + 1, checks)
        day = recents.day(reading, entry.series, now)
        total, newest = month.get(entry.series), now_ms // HOUR
        recent_of[entry.id] = LatelyMeasured(
            tuple(STATUSES[state] for state in states),
            tuple(day.p95s.get(newest - back) for back in range(HOURS - 1, -1, -1)),
            day.p95,
            None if total is None else percent(total.up, total.down),
        )
    return recent_of
