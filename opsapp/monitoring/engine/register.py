"""All monitors in this node's memory: what lists are answered from and what checks are made from.

A projection, moved inside whatever transaction asks: a list right after a create shows the new monitor, with or without
a hub.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from math import ceil, inf
from operator import attrgetter
from typing import NamedTuple, TypeVar

from opsapp.lib.addresses import public_text
from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.logic.settings import MonitoringSettings, SharedSettings
from opsapp.monitoring.logic.state import Standing, Thresholds, hold
from opsapp.monitoring.resources import Metric, Monitor, monitors_of
from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.events import Event
from opsapp.runtime.projection import Projection
from opsapp.series import Live, Value
from opsapp.tree.damage import load
from opsapp.tree.root import Root
from opsapp.wire.probes import Outcome, ProbeTarget
from opsapp.wire.readings import PLUGIN
from opsapp.wire.records import made

_thresholds = attrgetter("certificate_warn_days", "retry_spacing_s", "flapping_changes", "flapping_window_s")
DAY_S = 86400
NO_METRICS: dict[str, Metric] = {}  # of most monitors, so they share it
SAME_END_S = 3600  # days are told to a hundredth of a day
_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {}  # of phases: a handful of them for all monitors
Looked = TypeVar("Looked")
_rules = lru_cache(maxsize=4096)(Thresholds)


@lru_cache(maxsize=4096)
def _shared(text: str) -> SharedSettings:
    return made(SharedSettings, json.loads(text))


def shared_settings(stored: JsonObject) -> SharedSettings:
    rest = {name: value for name, value in stored.items() if name not in {"name", "url"}}
    return _shared(json.dumps(rest, sort_keys=True))


class StoredMonitor(NamedTuple):
    """What the store has of a monitor, as plain values."""

    id: str
    created_at: int
    series: int
    revision: int
    push_token: str | None
    name: str
    url: str
    settings: SharedSettings
    standing: Standing
    incident_id: str | None
    cert_ends: float | None
    metrics: dict[str, Metric] = NO_METRICS
    run_started: float | None = None


def stored(monitor: Monitor) -> StoredMonitor:
    state = load(monitor).state
    return StoredMonitor(
        monitor.id,
        monitor.created_at,
        monitor.series,
        monitor.revision,
        monitor.push_token,
        monitor.name,
        monitor.settings["url"],
        shared_settings(monitor.settings),
        state.standing(),
        state.incident_id,
        state.cert_ends,
        monitor.metrics or NO_METRICS,
        state.run_started,
    )


class ShownStatus(NamedTuple):
    status: str
    until: float  # so long it is shown so, if nothing comes; -inf: until the next check


class Entry:
    """Plain values. The hub changes `standing` with each check; a reload brings what is stored. `told` is what people
    see: the same, but never before it is committed together with its incident."""

    __slots__ = (
        "cert_ends",
        "created_at",
        "hold_s",
        "id",
        "incident_id",
        "judged_at",
        "made_at",
        "metrics",
        "name",
        "output",
        "phase_names",
        "phases",
        "protocol",
        "public_url",
        "push_token",
        "revision",
        "rules",
        "run_started",
        "series",
        "settings",
        "shown",
        "shown_until",
        "slow",
        "standing",
        "subject",
        "target",
        "told",
        "uptime",
        "uptime_of_month",
    )

    def __init__(self, monitor: StoredMonitor, section: MonitoringSettings):
        self.id: str = monitor.id
        self.subject = f"monitor:{self.id}"
        self.created_at: int = monitor.created_at
        self.series: int = monitor.series
        self.revision = 0
        self.standing = Standing()
        self.judged_at = -inf  # when the check began whose verdict was taken last, in monotonic seconds
        self.made_at = float(monitor.created_at)  # moves with the clock
        self.phase_names: tuple[str, ...] = ()  # of the last check, where this node made it
        self.phases = b""
        self.protocol: str | None = None
        self.output: str | None = None
        self.uptime: tuple[float, float | None] = (0.0, None)  # (computed at, percent of 24 h)
        self.uptime_of_month: tuple[float, float | None] = (0.0, None)  # the same of 30 days
        self.slow = False
        self.told = Standing()
        self.shown = "unknown"  # as it was shown last (`shownstates`)
        self.shown_until = -inf  # then it has to be looked at anew; -inf: now
        self.take(monitor, section)

    def take(self, monitor: StoredMonitor, section: MonitoringSettings) -> None:
        """What is stored. Failures are counted in memory only, so they live on while the status is the same."""
        standing = monitor.standing
        if monitor.revision == self.revision and standing.status == self.standing.status:
            standing = replace(standing, failures=self.standing.failures, failed_at=self.standing.failed_at)
        self.standing = standing
        self.tell(standing)
        self.run_started = monitor.run_started
        self.incident_id, self.cert_ends, self.metrics = monitor.incident_id, monitor.cert_ends, monitor.metrics
        if monitor.revision == self.revision:
            return
        self.revision, self.push_token = monitor.revision, monitor.push_token
        settings = self.settings = monitor.settings
        self.name = monitor.name
        self.public_url = public_text(monitor.url)  # each list asks it of every monitor
        self.judge_by(section)
        self.target = ProbeTarget(
            self.id,
            settings.type,
            monitor.url,
            settings.timeout,
            settings.expected_status,
            settings.method,
            settings.sent_headers,
            settings.follow_redirects,
            settings.verify_tls,
            settings.accepted_statuses,
            settings.max_redirects,
            settings.ip_family,
            settings.own,
            settings.body.encode(),
        )

    def move(self, by: float) -> None:
        """The clock was set by so many seconds."""
        self.made_at += by
        self.run_started = None if self.run_started is None else self.run_started + by
        self.standing = self.standing.moved(by)
        self.uptime, self.uptime_of_month = (0.0, self.uptime[1]), (0.0, self.uptime_of_month[1])
        self.shown_until = -inf

    def tell(self, standing: Standing) -> None:
        """This is what people see from now on."""
        before, self.told = self.told, standing
        if before.status != standing.status:
            self.shown_until = -inf

    def show(self, state_of: Callable[[Entry], ShownStatus]) -> None:
        """What is told may change meanwhile: then it is looked at again."""
        told = self.told
        self.shown, self.shown_until = state_of(self)
        if self.told is not told:
            self.shown_until = -inf

    def hold_until(self, until: float) -> None:
        """Nothing but the time has changed: it was checked again."""
        self.shown_until = until
        if self.told.status != self.shown:
            self.shown_until = -inf

    def judge_by(self, section: MonitoringSettings) -> None:
        """Monitors that agree in their rules share them."""
        own, given = self.settings, _thresholds(section)
        days = given[0] if own.certificate_warn_days is None else own.certificate_warn_days
        self.rules = _rules(own.interval, own.timeout, own.retries, own.degraded_ms, days, *given[1:])
        self.hold_s = hold(self.rules)  # each page asks it of every monitor

    def judged(self, outcome: Outcome) -> Outcome:
        """The outcome as judged: of a monitor that is upside down a failure is good, and an answer is not."""
        if not self.settings.upside_down or outcome.ok is None:
            return outcome
        fails = "it fails, as it should: " if not outcome.ok else "it does not fail, and it should: "
        seen = replace(outcome, ok=not outcome.ok, detail=fails + outcome.detail)
        return replace(seen, response_time_ms=None, certificate_days=None, degraded=None)

    def hold_from(self, called: float, zone: str) -> int:
        """Seconds for which a check of that moment says how it is: of a push monitor, until it is late."""
        if self.settings.type != "push":
            return self.hold_s
        return self.hold_s + max(0, ceil(self.late_at(called, zone) - called - self.settings.interval))

    def late_at(self, called: float, zone: str) -> float:
        """When the next call of a push monitor is late, after one of that moment."""
        return self.settings.late_at(called, self.run_started, zone)

    def another_end(self, days: float | None, now: float) -> float | None:
        """When the certificate that was seen ends, if that is not the stored end."""
        if days is None or (self.cert_ends is not None and abs(now + days * DAY_S - self.cert_ends) < SAME_END_S):
            return None
        return round(now + days * DAY_S)

    @property
    def looked_at(self) -> tuple[object, ...]:
        return self.target.url, self.settings.type, self.settings.command

    def implied(self, at: float) -> dict[str, Value]:
        """What a good check by another node tells beside its time: its certificate was the stored one."""
        return {} if self.cert_ends is None else {"cert_days": round((self.cert_ends - at) / DAY_S, 2)}

    def measured(self, outcome: Outcome) -> None:
        """What is shown until the next check; packed, because there are so many."""
        self.protocol = outcome.protocol
        self.output = outcome.detail if self.settings.on_host else None
        phases = outcome.phases or {}
        names = tuple(phases)
        self.phase_names, self.phases = _NAMES.setdefault(names, names), array("f", phases.values()).tobytes()

    def forget_measured(self) -> None:
        self.protocol, self.output, self.phase_names, self.phases = None, None, (), b""

    def shown_phases(self) -> dict[str, float] | None:
        if not self.phase_names:
            return None
        return {name: round(value, 2) for name, value in zip(self.phase_names, array("f", self.phases), strict=True)}


def by_name(entry: Entry) -> tuple[str, str]:
    return entry.name.casefold(), entry.id


class Register(Projection[StoredMonitor]):
    """Any thread may bring it up to date and read it."""

    kind = "monitor"

    def __init__(self, section: MonitoringSettings, live: Live, clock: Clock):
        super().__init__(clock)
        self.section = section
        self.entries: dict[str, Entry] = {}
        self._changes: dict[str, None] = {}
        self.version = 0  # grows when a monitor comes, goes or is set otherwise
        self._ordered: list[Entry] | None = None
        self._live = live

    def concerns(self, event: Event) -> str | None:
        return event.data["id"] if event.kind == "monitor" else None

    def ids(self, root: Root) -> Iterable[str]:
        return monitors_of(root).known_names()

    def read(self, root: Root, item_id: str) -> StoredMonitor | None:
        monitor = monitors_of(root).get(item_id)
        if monitor is None:
            return None
        plain = stored(monitor)
        for record in (monitor.state, monitor):
            record._p_deactivate()  # it is here as plain values now
        return plain

    def known(self) -> Collection[str]:
        return tuple(self.entries)

    def name_of(self, item_id: str) -> str:
        entry = self.entries.get(item_id)
        return entry.name if entry else ""

    def apply(self, items: Mapping[str, StoredMonitor | None]) -> None:
        for monitor_id, monitor in items.items():
            if monitor is not None:
                self._load(monitor_id, monitor)
            elif self.entries.pop(monitor_id, None) is not None:
                self._differs()
                self._live.drop(f"monitor:{monitor_id}")
            self._changes[monitor_id] = None

    def ordered(self) -> list[Entry]:
        with self._taking:
            if self._ordered is None:
                self._ordered = sorted(self.entries.values(), key=by_name)
            return self._ordered

    def look_through(self, look: Callable[[list[Entry]], Looked]) -> Looked:
        """`look(entries)` while none of them comes, goes or is read anew. It must not wait."""
        with self._taking:
            return look(list(self.entries.values()))

    def use(self, section: MonitoringSettings) -> None:
        """Another configuration: its thresholds count for every monitor."""
        self.section = section
        with self._taking:
            for entry in self.entries.values():
                entry.judge_by(section)
                entry.shown_until = -inf

    def move(self, by: float) -> None:
        """Runs on the hub: it never waits for who reads the store."""
        for entry in list(self.entries.values()):
            entry.move(by)

    def take_changes(self) -> set[str]:
        """Ids loaded, changed or dropped since the last call. On the hub: it never waits for who reads the store."""
        changes = set()
        while self._changes:
            changes.add(self._changes.popitem()[0])
        return changes

    def _differs(self) -> None:
        self._ordered = None
        self.version += 1  # after the change: who reads this one has read the change, or asks again

    def _load(self, monitor_id: str, monitor: StoredMonitor) -> None:
        entry = self.entries.get(monitor_id)
        differs = entry is None or entry.revision != monitor.revision
        if entry is None:
            entry = self.entries[monitor_id] = Entry(monitor, self.section)
        else:
            looked_at = entry.looked_at
            entry.take(monitor, self.section)
            if looked_at != entry.looked_at:
                self._live.forget(entry.subject, inf)  # it was measured elsewhere
                entry.forget_measured()
        entry.shown_until = -inf
        if differs:
            self._differs()
        # What other nodes measured comes back by the journal under this name.
        name = "beat" if entry.target.type == "push" else "response_time_ms"
        self._live.bind(entry.series, entry.subject, name, None if entry.cert_ends is None else entry.implied)
        for name, metric in entry.metrics.items():
            self._live.bind(metric.series, entry.subject, PLUGIN + name)
