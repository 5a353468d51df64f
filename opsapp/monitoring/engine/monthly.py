"""The report of a month, or of the last days, from daily roll-ups. Read-only, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from opsapp.lib.months import month_back, month_span
from opsapp.monitoring.interfaces import IStatusGroups
from opsapp.monitoring.logic.report import MonitorTimes, Period
from opsapp.monitoring.logic.uptime import StateTimes
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.node import Node
from opsapp.series import DAY, HOUR
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root

from .reports import now_ms
from .watch import watch_of


class ReportAsked(NamedTuple):
    """The last month, where neither a month nor days are said; of one tag, or of all monitors."""

    month: str | None
    days: int | None
    zone: str
    tag: str | None
    sight: Sight | None = None  # of those that the asker's teams see


def period_of(node: Node, asked: ReportAsked) -> Period:
    """Months begin by the clock of the zone, to the hour; the last days end now."""
    now = now_ms(node)
    if asked.days is not None:
        return Period((now - asked.days * DAY) // HOUR * HOUR, now, now)
    month = asked.month or month_back(now / 1000, asked.zone, 1)
    start, end = (int(at * 1000) // HOUR * HOUR for at in month_span(month, asked.zone))
    return Period(start, end, max(start, min(end, now)))


def measured(node: Node, root: Root, asked: ReportAsked, period: Period) -> list[MonitorTimes]:
    """Monitors that were there by the end of the period."""
    entries = [
        entry
        for entry in watch_of(node).entries(root).values()
        if entry.created_at * 1000 <= period.until
        and (asked.tag is None or asked.tag in entry.settings.tags)
        and (asked.sight is None or asked.sight.sees(entry.settings.tags))
    ]
    until = period.until + 1 if period.until < period.end or asked.days is not None else period.end
    numbers = [entry.series for entry in entries]
    totals = node.series.reading(root).totals(period.start, until, numbers) if period.until > period.start else {}
    incidents, groups = incidents_of(root), _groups(node, root)
    return [
        MonitorTimes(
            entry.id,
            entry.name,
            tuple(entry.settings.tags),
            StateTimes(*totals[entry.series].spent) if entry.series in totals else StateTimes(),
            incidents.count_begun(period.start / 1000, period.until / 1000, entry.id),
            groups.get(entry.id),
        )
        for entry in entries
    ]


def _groups(node: Node, root: Root) -> Mapping[str, str]:
    groups_of = node.registry.queryUtility(IStatusGroups)
    return groups_of(root) if groups_of is not None else {}
