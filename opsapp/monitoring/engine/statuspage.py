"""What the public may see: the status document of the monitors tagged `public`. Read-only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from BTrees.OOBTree import OOTreeSet

from opsapp.lib.ids import earliest_id
from opsapp.lib.pagenames import MAIN, is_on
from opsapp.maintenance.config import MaintenanceSettings
from opsapp.maintenance.engine import upcoming
from opsapp.monitoring.earlier import days_before
from opsapp.monitoring.engine import notices
from opsapp.monitoring.engine.register import Entry, by_name
from opsapp.monitoring.engine.shownstates import is_down_in_window, state_at
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.interfaces import IRootCauses
from opsapp.monitoring.logic import statuspage
from opsapp.monitoring.logic.statuspage import PublicMonitor, UpAndDown
from opsapp.monitoring.logic.uptime import enough_known
from opsapp.monitoring.onpages import has_before, ids_between, shown_on
from opsapp.monitoring.records import IncidentRecord, PublicIncident, PublicWindow, StatusDocument
from opsapp.monitoring.resources import Incident, incidents_of, monitors_of
from opsapp.monitoring.shownon import PageScope, page_of
from opsapp.runtime.node import Node
from opsapp.series import DAY, FINE
from opsapp.tree.root import Root

TAG = "public"
MOST_WINDOWS = 50
EMPTY = OOTreeSet()
Told = list[tuple[IncidentRecord, str]]  # with the name of its monitor at present


def status_document(node: Node, root: Root, scope: PageScope | None = None) -> StatusDocument:
    """The status of the tagged monitors; or of the page of this scope, on which is no name of another monitor."""
    now, entries = node.clock.now(), _entries(node, root, scope)
    names = {entry.id: entry.name for entry in entries}
    page = page_of(scope)
    told = _incidents(root, names, now, page)
    return statuspage.document(
        _components(node, root, sorted(entries, key=by_name), now),
        _public(told, _causes(node, root, told, set(names.values()), now)),
        _windows(node, root, names, now),
        int(now),
        notices.shown(root, now, page=page),
    )


def _entries(node: Node, root: Root, scope: PageScope | None) -> list[Entry]:
    entries = watch_of(node).entries(root)
    if scope is None:
        return [entry for entry in entries.values() if TAG in entry.settings.tags]
    return [entries[monitor_id] for monitor_id in scope.monitors if monitor_id in entries]


def status_document_at(node: Node, root: Root, at: int, *, everything: bool) -> StatusDocument:
    """The status as it was when the second `at` ended, by the tree and the measurements of then. Who is not signed in
    sees only what is public now: what was taken from the page since is not shown again."""
    public = {entry.id for entry in watch_of(node).entries(root).values() if TAG in entry.settings.tags}
    open_now = frozenset(notice.id for notice in notices.shown(root, node.clock.now()))
    components, series, incidents, windows = node.transact_at(
        at, _published_then, node, at, None if everything else public
    )
    told = node.transact_at(at, notices.shown, at, None if everything else open_now)
    past = {monitor_id: _days_until(node, root, watched, at) for monitor_id, watched in series.items()}
    components = [
        component._replace(days=past[component.id].up_and_down, is_known=past[component.id].is_known)
        for component in components
    ]
    return statuspage.document(components, incidents, windows, at, told)


def _published_then(
    then: Root, node: Node, at: int, only: set[str] | None
) -> tuple[list[PublicMonitor], dict[str, WatchedSeries], list[PublicIncident], list[PublicWindow]]:
    """What was published over the tree of that time; `only` these monitors. Their days are not read yet."""
    published = [monitor for monitor in monitors_of(then).values() if TAG in monitor.record.tags]
    published = [monitor for monitor in published if only is None or monitor.id in only]
    published.sort(key=lambda monitor: (monitor.name.casefold(), monitor.id))
    names = {monitor.id: monitor.name for monitor in published}
    components = [
        PublicMonitor(monitor.id, names[monitor.id], monitor.state.status, {}, monitor.state.is_down_in_window)
        for monitor in published
    ]
    series = {
        monitor.id: WatchedSeries(monitor.id, monitor.series, monitor.created_at, monitor.record.interval)
        for monitor in published
    }
    return components, series, _public(_incidents(then, names, at, MAIN)), _windows(node, then, names, at)


class WatchedSeries(NamedTuple):
    monitor_id: str
    number: int
    created_at: int
    every_s: int


class PublicDays(NamedTuple):
    up_and_down: UpAndDown
    is_known: bool  # whether enough of them is

    @classmethod
    def of(
        cls, spent: dict[int, tuple[int, ...]], earlier: UpAndDown, series: WatchedSeries, start: int, end: int
    ) -> PublicDays:
        """`spent`: ms in each state, by day. `earlier`: up and down of days that another program measured."""
        days = earlier | {day: (states[0] + states[1], states[2]) for day, states in spent.items()}
        known_ms = sum(map(sum, spent.values())) + sum(sum(earlier[day]) for day in earlier if day not in spent)
        began = min([series.created_at * 1000, *(day * DAY for day in earlier)])
        return cls(days, enough_known(known_ms, end - max(start, began), series.every_s * 1000))


def _days_until(node: Node, root: Root, series: WatchedSeries, at: int) -> PublicDays:
    """The day of `at` as far as it had come; a sealed one knows only its whole."""
    end = (at + 1) * 1000
    today, start = end // DAY * DAY, _first_day(end)
    spent, earlier = _spent(node, root, series, start, today + 1), _earlier(root, series, end)
    spent.pop(today // DAY, None)
    earlier.pop(today // DAY, None)
    parts = node.series.reading(root).buckets(series.number, today, end, FINE)
    if parts:
        spent[today // DAY] = tuple(map(sum, zip(*(part.spent for part in parts), strict=True)))
    return PublicDays.of(spent, earlier, series, start, end)


def _components(node: Node, root: Root, entries: list[Entry], now: float) -> list[PublicMonitor]:
    state_of, is_down = state_at(node, now), is_down_in_window(node, now)
    looked = [(entry, _days(node, root, entry, int(now * 1000) + 1)) for entry in entries]
    return [
        PublicMonitor(entry.id, entry.name, state_of(entry).status, days.up_and_down, is_down(entry), days.is_known)
        for entry, days in looked
    ]


def _first_day(end: int) -> int:
    return end - (statuspage.DAYS - 1) * DAY


def _spent(node: Node, root: Root, series: WatchedSeries, start: int, end: int) -> dict[int, tuple[int, ...]]:
    """Ms in each state, by day number."""
    rollups = node.series.reading(root).daily(series.number, start, end)
    return {day: rollup.spent for day, rollup in rollups.items()}


def _earlier(root: Root, series: WatchedSeries, end: int) -> UpAndDown:
    """Times of those days on the page that another program measured."""
    first, last = _first_day(end) // DAY, end // DAY
    return {day: spent for day, spent in days_before(root, series.monitor_id).items() if first <= day <= last}


def _days(node: Node, root: Root, entry: Entry, end: int) -> PublicDays:
    series = WatchedSeries(entry.id, entry.series, entry.created_at, entry.settings.interval)
    start = _first_day(end)
    return PublicDays.of(_spent(node, root, series, start, end), _earlier(root, series, end), series, start, end)


def _incidents(root: Root, names: dict[str, str], now: float, page: str) -> Told:
    """Newest first, each with the monitor's present name; with those that people put on this page."""
    since, incidents = now - statuspage.DAYS * statuspage.DAY_S, incidents_of(root)
    records = [
        (incident.record(now), name)
        for monitor_id, name in names.items()
        for incident in incidents.touching(since, now + 1, monitor_id)
    ]
    records += [(incident.record(now), title_of(incident)) for incident in shown_on(incidents, page, since, now + 1)]
    return sorted(records, key=lambda told: told[0].id, reverse=True)


def title_of(incident: Incident) -> str:
    """Of one that was opened by hand: without what people here call its place."""
    return incident.monitor_name if incident.told is None else incident.told.name


def _public(told: Told, causes: Mapping[str, str] = MappingProxyType({})) -> list[PublicIncident]:
    return [
        PublicIncident.of(record, name, causes.get(name) if record.is_open and record.monitor_id else None)
        for record, name in told
    ]


def _causes(node: Node, root: Root, told: Told, published: set[str], now: float) -> dict[str, str]:
    """What open incidents come from, where that is published too."""
    causes_of = node.registry.queryUtility(IRootCauses)
    suffering = {name for record, name in told if record.is_open and record.monitor_id}
    causes = causes_of(root, suffering, now) if causes_of is not None and suffering else {}
    return {name: cause for name, cause in causes.items() if cause in published}


def published(node: Node, root: Root, scope: PageScope | None = None) -> dict[str, str]:
    """The published monitors' names by id; or of what is on the page that shows `only` these."""
    return {entry.id: entry.name for entry in _entries(node, root, scope)}


def published_incident(
    node: Node, root: Root, incident_id: str, scope: PageScope | None = None
) -> PublicIncident | None:
    """The incident; None for incidents that the public may not see."""
    now, incident = node.clock.now(), incidents_of(root).find(incident_id)
    names = published(node, root, scope)
    name = None if incident is None else _name_on(incident, names, page_of(scope))
    if incident is None or name is None:
        return None
    told = [(incident.record(now), name)]
    return _public(told, _causes(node, root, told, set(names.values()), now))[0]


def _name_on(incident: Incident, names: dict[str, str], page: str) -> str | None:
    """What it is called on the page; None where it is not shown there."""
    return title_of(incident) if is_on(incident.pages, page) else names.get(incident.monitor_id)


def published_incidents(
    node: Node, root: Root, start: float, end: float, most: int, scope: PageScope | None = None
) -> tuple[list[PublicIncident], int]:
    """Incidents that began in [start, end), newest first, at most so many, and how many there are. Ids are in the order
    of time, so none of another month is read."""
    now, names, store, page = node.clock.now(), published(node, root, scope), incidents_of(root), page_of(scope)
    low, high = earliest_id(start), earliest_id(end)
    ids = ids_between(store, page, start, end)
    ids.update(name for monitor_id in names for name in store.by_monitor.get(monitor_id, EMPTY).keys(low, high))
    newest = sorted(ids, reverse=True)[:most]
    told = [(incident.record(now), _name_on(incident, names, page) or "") for incident in store.some(newest)]
    return _public(told), len(ids)


def has_earlier_incidents(node: Node, root: Root, start: float, scope: PageScope | None = None) -> bool:
    """Reads the first id of each monitor, no incident."""
    by_monitor, low = incidents_of(root).by_monitor, earliest_id(start)
    known = (by_monitor.get(monitor_id) for monitor_id in published(node, root, scope))
    return any(ids and ids.minKey() < low for ids in known) or has_before(incidents_of(root), page_of(scope), start)


def _windows(node: Node, root: Root, names: dict[str, str], now: float) -> list[PublicWindow]:
    """Windows of what is published, on or to come; no name that is not published."""
    within = node.config[MaintenanceSettings].announce_days * statuspage.DAY_S
    windows: list[PublicWindow] = []
    for window in upcoming(root, now, within):
        covered = [name for monitor_id, name in names.items() if window.scope is None or monitor_id in window.scope]
        if covered and len(windows) < MOST_WINDOWS:
            windows.append(PublicWindow(window.name, window.start, window.end, window.active, tuple(sorted(covered))))
    return windows
