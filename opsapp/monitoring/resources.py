"""Monitors, their states and incidents: what is stored under /api/monitoring.

Settings change by hand and the state by checks, so they are two records: neither write meets the other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, takewhile
from typing import Any, NamedTuple

from BTrees.IOBTree import IOBTree
from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.lib.ids import earliest_id, id_from, new_id, new_token
from opsapp.lib.problems import Conflict
from opsapp.monitoring.logic.settings import MonitorSettings
from opsapp.monitoring.logic.state import Standing
from opsapp.monitoring.logic.told import ToldTrouble
from opsapp.monitoring.queries import IncidentQuery
from opsapp.monitoring.records import IncidentNote, IncidentRecord
from opsapp.monitoring.shownon import paths_of
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.tree.counted import LAST, StoredCounts, descending, just_before, newest
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace, SystemPlace
from opsapp.tree.root import Root, root_above
from opsapp.tree.sharded import ShardedTree
from opsapp.wire.records import made, parts_of, plain

ALL = "*"
SETTINGS = frozenset(part.name for part in parts_of(MonitorSettings))
LOOKED_AT = 2000  # incidents that are looked into for a filter, at most


class Monitoring(Folder):
    """/api/monitoring"""

    url = "/api/monitoring"


class Monitors(Folder):
    """/api/monitoring/endpoints"""

    url = "/api/monitoring/endpoints"
    holds = "monitor"

    def __init__(self) -> None:
        super().__init__()
        self._children = ShardedTree()


class State(SealedFields):
    """Written when the state changes, not with each check. So is when its certificate ends, from which nodes that do
    not check it tell its days."""

    sealed_fields = ("cause",)
    only_shown = True
    cert_ends: float | None = None
    run_started: float | None = None  # of a push monitor: when the run began that has not ended
    down = False

    def __init__(self, since: int, status: str = "pending"):
        self.status = status
        self.since = since
        self.cause = ""
        self.incident_id: str | None = None
        self.flips: tuple[float, ...] = ()
        self.flapping = False

    def standing(self) -> Standing:
        alarmed, down = self.incident_id is not None, self.down or self.status == "down"
        return Standing(self.status, self.since, self.cause, 0, alarmed, self.flips, self.flapping, down=down)

    @property
    def is_down_in_window(self) -> bool:
        return self.down and self.status == "maintenance"

    def take(self, standing: Standing) -> None:
        self.status, self.since, self.cause = standing.status, int(standing.since), standing.cause
        self.flips, self.flapping, self.down = standing.flips, standing.flapping, standing.down


class Metric(NamedTuple):
    """Where the history of what a plugin measures is, and its unit."""

    series: int
    unit: str


class Monitor(SealedFields, Record):
    """/api/monitoring/endpoints/{id}. `settings` as stored, replaced whole; `record` the same, typed; `revision` tells
    a check of older settings."""

    url = "/api/monitoring/endpoints/{monitor_id}"
    loads_with = ("state",)
    sealed_fields = ("settings",)
    _metrics: Mapping[str, tuple[int, str]] = {}  # replaced whole

    def __init__(self, settings: MonitorSettings, series: int, now: float):
        self.settings = settings.stored()
        self.series = series
        self.revision = 1
        self.created_at = int(now)
        self.push_token = new_token() if settings.type == "push" else None
        self.state = State(int(now), "pending" if settings.enabled else "paused")

    @property
    def id(self) -> str:
        return self.__name__

    @property
    def record(self) -> MonitorSettings:
        return made(MonitorSettings, self.settings)

    @property
    def name(self) -> str:
        """Without all the rest: thousands are asked."""
        return str(self.settings["name"])

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics by name; none unless it is a plugin."""
        return {name: Metric(*metric) for name, metric in self._metrics.items()}

    def keep_metrics(self, metrics: Mapping[str, Metric]) -> None:
        self._metrics = {name: (metric.series, metric.unit) for name, metric in metrics.items()}

    def change(self, settings: MonitorSettings, now: float) -> None:
        """A monitor that is switched off or on starts afresh. What a later version stored stays."""
        before = self.record
        switched, moved = settings.enabled != before.enabled, settings.looked_at != before.looked_at
        later = {name: value for name, value in self.settings.items() if name not in SETTINGS}
        self.settings = settings.stored() | later
        self.revision += 1
        if switched or moved:
            self.state.take(Standing("pending" if settings.enabled else "paused", now))
        if moved:
            self.state.cert_ends = None


class Update(Persistent):
    """A record of its own, so that the next one does not write it again."""

    def __init__(self, note: IncidentNote):
        self.note = plain(note)

    @property
    def record(self) -> IncidentNote:
        """Visitors of the status page read all that older versions stored."""
        return made(IncidentNote, {"public": self.note["stage"] != "acknowledged", **self.note})


class Incident(SealedFields, Record):
    """/api/monitoring/incidents/{id}"""

    url = "/api/monitoring/incidents/{incident_id}"
    sealed_fields = ("cause",)
    only_shown = True
    closed_because = ""  # it ended for this reason, and not because the monitor came back
    pages: tuple[str, ...] = ()  # ids of status pages on which a person put it
    _told: tuple[Any, ...] | None = None  # it is of no monitor: another system told of it
    _updates: IOBTree | None = None  # number -> Update, from the first one on

    def __init__(self, monitor_id: str, monitor_name: str, tags: Iterable[str], cause: str, now: float):
        self.monitor_id = monitor_id
        self.monitor_name = monitor_name
        self.tags = tuple(tags)
        self.started = int(now)
        self.resolved: int | None = None
        self.cause = cause
        self.acknowledged_by: str | None = None

    @classmethod
    def of_told(cls, told: ToldTrouble, now: float) -> Incident:
        incident = cls("", told.title, (), told.cause, now)
        incident._told = tuple(told)
        return incident

    @property
    def told(self) -> ToldTrouble | None:
        return None if self._told is None else ToldTrouble(*self._told)

    def passes(self, query: IncidentQuery) -> bool:
        return query.passes(self.monitor_name, self.acknowledged_by, self.tags, self.told)

    @property
    def updates(self) -> list[IncidentNote]:
        """What people said of it, oldest first."""
        return self.updates_between(0, self.count_updates())

    def count_updates(self) -> int:
        return self._updates.maxKey() + 1 if self._updates else 0

    def updates_between(self, first: int, last: int) -> list[IncidentNote]:
        """Those with these numbers, `last` left out."""
        if self._updates is None:
            return []
        return [update.record for update in self._updates.values(first, last, excludemax=True)]

    @property
    def id(self) -> str:
        return self.__name__

    def acknowledge(self, user: str, note: str, now: float) -> None:
        if self.acknowledged_by is not None:
            raise Conflict(f"{self.acknowledged_by} has acknowledged it already.", code="already_acknowledged")
        self.become_of(user)
        self.add_update(user, "acknowledged", note, now, public=False)

    def assign(self, user: str, to: str, note: str, now: float) -> None:
        """Somebody else takes care of it from here on."""
        self.become_of(to)
        self._note(IncidentNote(int(now), user, "assigned", note, public=False, to=to))

    def become_of(self, user: str | None) -> None:
        taken = self.__parent__.taken
        taken.discard((self.acknowledged_by or "", self.id))
        if user is not None and self.resolved is None:
            taken.insert((user, self.id))
        self.acknowledged_by = user

    def add_update(self, user: str, stage: str, message: str, now: float, *, public: bool) -> IncidentNote:
        return self._note(IncidentNote(int(now), user, stage, message, public=public))

    def _note(self, note: IncidentNote) -> IncidentNote:
        if self._updates is None:
            self._updates = IOBTree()
        self._updates[self.count_updates()] = Update(note)
        return note

    def record(self, now: float) -> IncidentRecord:
        return replace(self.summary(now), updates=tuple(self.updates))

    def summary(self, now: float) -> IncidentRecord:
        """The same without what people said."""
        until = int(now) if self.resolved is None else self.resolved
        record = IncidentRecord(
            id=self.id,
            pages=paths_of(root_above(self), self.pages) if self.pages else (),
            monitor_id=self.monitor_id or None,
            monitor_name=self.monitor_name,
            started=self.started,
            resolved=self.resolved,
            duration_minutes=round(max(0, until - self.started) / 60, 2),
            cause=self.cause,
            status="open" if self.resolved is None else "resolved",
            acknowledged_by=self.acknowledged_by,
        )
        return record if self.told is None else self.told.within(record)


class Incidents(Folder):
    """/api/monitoring/incidents. Ids begin with the time, so their order is that of the incidents."""

    url = "/api/monitoring/incidents"
    holds = "incident"
    by_page: Any = None  # page id -> tree set of incident ids: `onpages`

    def __init__(self) -> None:
        super().__init__()
        self.open = OOTreeSet()
        self.open_of_none = OOTreeSet()  # those of the open ones that are of no monitor
        self.by_monitor = OOBTree()  # monitor id -> tree set of incident ids
        self.counts = StoredCounts()  # of each monitor; of all under ALL
        self.taken = OOTreeSet()  # (user, id) of the open ones that somebody has acknowledged

    def start(self, monitor: Monitor, cause: str, now: float) -> Incident:
        incident = Incident(monitor.id, monitor.name, monitor.record.tags, cause, now)
        self[id_from(now, self)] = incident
        self.open.insert(incident.id)
        if monitor.id not in self.by_monitor:
            self.by_monitor[monitor.id] = OOTreeSet()
        self.by_monitor[monitor.id].insert(incident.id)
        self.counts.add(ALL, monitor.id)
        monitor.state.incident_id = incident.id
        return incident

    def start_told(self, told: ToldTrouble, now: float) -> Incident:
        """One of no monitor: another system told of it."""
        incident = Incident.of_told(told, now)
        self[id_from(now, self)] = incident
        self.open.insert(incident.id)
        self.open_of_none.insert(incident.id)
        self.counts.add(ALL)
        return incident

    def end(self, incident_id: str, now: float, why: str = "") -> Incident:
        incident = self[incident_id]
        self.open_of_none.discard(incident_id)
        self.taken.discard((incident.acknowledged_by or "", incident_id))
        incident.closed_because = why
        incident.resolved = max(int(now), incident.started)
        self.open.remove(incident_id)
        return incident

    def page(self, query: IncidentQuery, seen: Container[str] | None = None) -> tuple[list[str], int]:
        """Ids, newest first, and their number. `seen`: of these monitors alone. A filter looks at the newest only."""
        if query.chooses or seen is not None:
            looked_at = self.some_items(self._newest(query.status, query.monitor_id, LOOKED_AT, 0)[0])
            ids = [
                incident_id
                for incident_id, incident in looked_at
                if incident.passes(query) and (seen is None or incident.monitor_id in seen)
            ]
            return ids[query.offset : query.offset + query.limit], len(ids)
        return self._newest(query.status, query.monitor_id, query.limit, query.offset)

    def newest_first(self, query: IncidentQuery) -> Iterator[str]:
        """Ids of those in this state, of this monitor and before that one; none is read."""
        listed = self._children if query.monitor_id is None else self.by_monitor.get(query.monitor_id, OOTreeSet())
        last = LAST if query.before is None else just_before(query.before)
        of_all = query.status != "open"
        ids = descending(listed, "", last, 0) if of_all else reversed(list(self.open.keys(None, last)))
        for incident_id in ids:
            is_open = incident_id in self.open
            if incident_id in listed and query.status in ("all", "open" if is_open else "resolved"):
                yield incident_id

    def _newest(self, status: str, monitor_id: str | None, limit: int, offset: int) -> tuple[list[str], int]:
        listed = self._children if monitor_id is None else self.by_monitor.get(monitor_id, OOTreeSet())
        open_ids = [incident_id for incident_id in self.open if incident_id in listed]
        if status == "open":
            return open_ids[::-1][offset : offset + limit], len(open_ids)
        aside = set() if status == "all" else set(open_ids)
        ids = newest(listed, "", LAST, 0, offset + limit + len(aside))
        ids = [incident_id for incident_id in ids if incident_id not in aside]
        return ids[offset : offset + limit], self.counts[ALL if monitor_id is None else monitor_id] - len(aside)

    def forget(self, before: float, first: str, limit: int) -> str | None:
        """Delete, of a page from `first` on, incidents that were over before that time; the id to go on after, or None
        at the end. One that cannot be read stays, for the doctor."""
        last = earliest_id(before)
        ids = list(islice(takewhile(lambda incident_id: incident_id < last, self.keys(first)), limit))
        for incident_id, incident in list(self.some_items(ids)):
            if incident.resolved is not None and incident.resolved < before:
                del self[incident_id]
                self.counts.add(ALL, *filter(None, [incident.monitor_id]), by=-1)
                self._without(incident.monitor_id, incident_id)
                for page in incident.pages:
                    self.by_page.get(page, OOTreeSet()).discard(incident_id)
        return ids[-1] + "~" if len(ids) == limit else None

    def _without(self, monitor_id: str, incident_id: str) -> None:
        of_monitor = self.by_monitor.get(monitor_id)
        if of_monitor is not None and incident_id in of_monitor:
            of_monitor.remove(incident_id)
            if not of_monitor:
                del self.by_monitor[monitor_id]

    def touching(self, start: float, end: float, *monitor_ids: str) -> Iterator[Incident]:
        """Incidents open at some time in [start, end), oldest first of each monitor. It has one at a time, so of those
        that began before only the last can reach so far: the others, of years, are not read."""
        first, last, names = earliest_id(start), earliest_id(math.ceil(end)), dict[str, None]()
        for monitor_id in monitor_ids:
            ids = self.by_monitor.get(monitor_id)
            if ids:
                earlier = [ids.maxKey(first)] if ids.minKey() <= first else []
                names.update(dict.fromkeys((*earlier, *ids.keys(first, last))))
        for incident in self.some(names):
            if incident.started < end and (incident.resolved is None or incident.resolved >= start):
                yield incident

    def begun(self, start: float, end: float, seen: Collection[str] | None = None) -> list[str]:
        """Ids of those that began in [start, end), newest first. `seen`: of these monitors alone."""
        listed = [self.tree] if seen is None else [self.by_monitor.get(monitor_id, ()) for monitor_id in seen]
        span = earliest_id(start), earliest_id(math.ceil(end))
        return sorted((name for ids in listed if ids for name in ids.keys(*span, excludemax=True)), reverse=True)

    def count_begun(self, start: float, end: float, monitor_id: str) -> int:
        """How many incidents began in [start, end); none is read."""
        ids = self.by_monitor.get(monitor_id)
        return 0 if not ids else len(ids.keys(earliest_id(start), earliest_id(math.ceil(end)), excludemax=True))


monitoring_of = ApiPlace[Monitoring]("monitoring")
monitors_of = ApiPlace[Monitors]("monitoring", "endpoints")
incidents_of = ApiPlace[Incidents]("monitoring", "incidents")
push_addresses = SystemPlace[OOBTree]("push_addresses")  # token -> monitor id


def add_monitor(root: Root, settings: MonitorSettings, series: int, now: float) -> Monitor:
    monitor = Monitor(settings, series, now)
    place_monitor(root, monitor, new_id())
    return monitor


def place_monitor(root: Root, monitor: Monitor, monitor_id: str) -> None:
    monitors_of(root)[monitor_id] = monitor
    if monitor.push_token:
        push_addresses(root)[monitor.push_token] = monitor_id


def remove_monitor(root: Root, monitor: Monitor) -> None:
    if monitor.push_token:
        del push_addresses(root)[monitor.push_token]
    del monitors_of(root)[monitor.id]
