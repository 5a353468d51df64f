"""What the series say about monitors, as the API shows it: history, SLA, health scores. Read-only.

In the view's transaction; figures are computed for all monitors asked for at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from opsapp.monitoring.engine.register import Entry, by_name
from opsapp.monitoring.engine.watch import register_of, watch_of
from opsapp.monitoring.logic import score
from opsapp.monitoring.logic.history import ResponsePoint, points
from opsapp.monitoring.logic.pastbudget import BudgetPast, SpentBucket
from opsapp.monitoring.logic.uptime import (
    StateTimes,
    budget_left,
    enough_known,
    is_known,
    known_percent,
    percent,
    sla,
    uptime,
)
from opsapp.monitoring.queries import HistoryQuery
from opsapp.monitoring.records import AggregateScore, MonitorScore, ScoreComponents, SlaEntry, SlaFigures, UptimeFigures
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.node import Node
from opsapp.series import DAY, FINE, HOUR, NAMES, Total
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.wire.records import extended

UPTIME_SPANS = (1, 7, 30, 90)  # days
STATUSES = ("pending", *NAMES[1:])  # by status code; 0 is a check before the first verdict


def history(node: Node, root: Root, series: int, query: HistoryQuery) -> list[ResponsePoint]:
    return points(node.series.reading(root).buckets(series, *query.span(now_ms(node))), STATUSES)


def uptimes(node: Node, root: Root, monitor_id: str) -> list[UptimeFigures]:
    """Uptimes over a day, a week, 30 and 90 days. Time before the monitor was made counts as none, not as unknown."""
    entry, now = watch_of(node).entry(root, monitor_id), now_ms(node)
    reading, first = node.series.reading(root), (now - UPTIME_SPANS[-1] * DAY) / 1000
    own = _outages(root, [monitor_id], first, now / 1000)[monitor_id]
    rows = []
    for days in UPTIME_SPANS:
        start = (now - days * DAY) // HOUR * HOUR
        total = reading.totals(start, now + 1, [entry.series]).get(entry.series)
        within = [(began, ended) for began, ended in own if ended is None or ended >= start / 1000]
        figures = _sla_figures(entry, total, (start, now), within)
        rows.append(extended(UptimeFigures, figures, days=days, known_percent=_known_percent(total, now - start)))
    return rows


def sla_report(
    node: Node, root: Root, days: int, page: slice, sort: str, sight: Sight | None = None
) -> tuple[list[SlaEntry], int]:
    """An entry a monitor, and how many monitors there are. By name, only the page is computed; by uptime, that of all
    monitors, and the rest for the page."""
    monitors = sorted(_seen(node, root, sight), key=by_name, reverse=sort == "-name")
    start, now = _window(node, days)
    listed = monitors[page] if sort.endswith("name") else monitors
    totals = node.series.reading(root).totals(start, now + 1, [entry.series for entry in listed])
    if not sort.endswith("name"):
        listed = _by_uptime(monitors, totals, (start, now), backward=sort == "-worst")[page]
    return _sla_rows(root, (start, now), listed, totals), len(monitors)


def budgets_left(
    node: Node, root: Root, monitor_ids: Iterable[str], slo: float, window_s: float
) -> dict[str, float | None]:
    """The share of each monitor's error budget that is left over the window, which begins no earlier than the
    monitor."""
    now, known = now_ms(node), register_of(node).entries
    entries = [known[monitor_id] for monitor_id in monitor_ids if monitor_id in known]
    start = int(now - window_s * 1000) // HOUR * HOUR
    totals = node.series.reading(root).totals(start, now + 1, [entry.series for entry in entries])
    left = {}
    for entry in entries:
        total = totals.get(entry.series)
        left[entry.id] = None if total is None else budget_left(_spent(total), _since(entry, start, now), slo)
    return left


def budget_pasts(
    node: Node, root: Root, monitor_ids: Iterable[str], since: float, until: float, window_s: float
) -> dict[str, BudgetPast]:
    """Each monitor's error budget at any time between the two, to five minutes, as far as such roll-ups are kept."""
    reading = node.series.reading(root)
    first, end = int(since * 1000) // HOUR * HOUR, int(until * 1000) + 1
    parts = ((first - int(window_s * 1000) - HOUR, first, HOUR), (first, end, FINE))
    pasts = {}
    for monitor_id, monitor in monitors_of(root).some_items(list(monitor_ids)):
        buckets = [
            SpentBucket(rollup.start, HOUR if sum(rollup.spent) > width else width, StateTimes(*rollup.spent))
            for start, stop, width in parts
            for rollup in reading.buckets(monitor.series, max(0, start), stop, width, percentiles=False)
        ]
        pasts[monitor_id] = BudgetPast(int(monitor.created_at * 1000), buckets)
    return pasts


def _by_uptime(
    monitors: list[Entry], totals: dict[int, Total], window: tuple[int, int], *, backward: bool
) -> list[Entry]:
    """The worst first, or last; what nobody knows comes after both."""
    shares = [(uptime_of(entry, totals.get(entry.series), *window), entry) for entry in monitors]
    known = sorted((row for row in shares if row[0] is not None), key=itemgetter(0), reverse=backward)
    return [entry for _, entry in known] + [entry for share, entry in shares if share is None]


def uptime_of(entry: Entry, total: Total | None, start: int, end: int) -> float | None:
    """The uptime as far as this window is known; it begins no earlier than the monitor. Lists ask for thousands."""
    if total is None or not enough_known(sum(total.spent), _since(entry, start, end), entry.settings.interval * 1000):
        return None
    return percent(total.up, total.down)


def _since(entry: Entry, start: int, end: int) -> int:
    """How much of a window there was, in ms."""
    return end - max(start, entry.created_at * 1000)


def _spent(total: Total | None) -> StateTimes:
    return StateTimes(*total.spent) if total else StateTimes()


def _window(node: Node, days: int) -> tuple[int, int]:
    """It begins on the full hour, and ends now."""
    now = now_ms(node)
    return (now - days * DAY) // HOUR * HOUR, now


def _outages(
    root: Root, monitor_ids: Iterable[str], start: float, end: float
) -> defaultdict[str, list[tuple[int, int | None]]]:
    outages = defaultdict(list)
    for incident in incidents_of(root).touching(start, end, *monitor_ids):
        outages[incident.monitor_id].append((incident.started, incident.resolved))
    return outages


def _sla_rows(root: Root, window: tuple[int, int], entries: list[Entry], totals: dict[int, Total]) -> list[SlaEntry]:
    """The window begins no earlier than the monitor."""
    start, now = window
    incidents = _outages(root, (entry.id for entry in entries), start / 1000, now / 1000)
    return [
        extended(
            SlaEntry,
            _sla_figures(entry, totals.get(entry.series), window, incidents[entry.id]),
            monitor_id=entry.id,
            name=entry.name,
            known_percent=_known_percent(totals.get(entry.series), now - start),
        )
        for entry in entries
    ]


def health(node: Node, root: Root, monitor_id: str) -> MonitorScore:
    entry = watch_of(node).entry(root, monitor_id)
    return _scores(node, root, [entry])[0]


def health_of_all(node: Node, root: Root, sight: Sight | None = None) -> AggregateScore:
    return score.aggregate(_scores(node, root, sorted(_seen(node, root, sight), key=by_name)))


def _seen(node: Node, root: Root, sight: Sight | None) -> list[Entry]:
    """All monitors, or those that the caller's teams see."""
    entries = watch_of(node).entries(root).values()
    return [entry for entry in entries if sight is None or sight.sees(entry.settings.tags)]


def now_ms(node: Node) -> int:
    return int(node.clock.now() * 1000)


def _sla_figures(entry: Entry, total: Total | None, window: tuple[int, int], outages: list[Any]) -> SlaFigures:
    checks, every_ms = total.checks if total else 0, entry.settings.interval * 1000
    return sla(_spent(total), _since(entry, *window), every_ms, checks, outages)


def _known_percent(total: Total | None, window_ms: int) -> float:
    return known_percent(_spent(total), window_ms)


def _scores(node: Node, root: Root, entries: list[Entry]) -> list[MonitorScore]:
    now, numbers = now_ms(node), [entry.series for entry in entries]
    reading = node.series.reading(root)
    day = reading.totals(now - DAY, now + 1, numbers, percentiles=True)
    week = reading.totals(now - score.UPTIME_DAYS * DAY, now + 1, numbers)  # after the day: what is new is read once
    return [_score(node, entry, week.get(entry.series), day.get(entry.series), now) for entry in entries]


def _score(node: Node, entry: Entry, week: Total | None, day: Total | None, now: int) -> MonitorScore:
    certificate: Any = node.series.live.value(entry.subject, "cert_days")
    spent = _spent(week)
    components = ScoreComponents(
        score.uptime_component(uptime(spent)),
        score.response_component(day.p95 if day else None, entry.settings.degraded_ms),
        score.certificate_component(certificate),
    )
    scored = score.monitor_score(entry.id, entry.name, components)
    is_watched = is_known(spent, _since(entry, now - score.UPTIME_DAYS * DAY, now))
    return scored if is_watched or not sum(spent) else score.hardly_known(scored)
