"""All monitors in this node's memory: what lists are answered from and what checks are made from.

It is brought up to date by the outbox, inside whatever transaction asks: a list right after a create shows the new
monitor, with or without a hub.
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opsapp.monitoring.logic.state import Rules, Standing
from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget
from opsapp.monitoring.resources import Monitor, monitors_of
from opsapp.runtime import events
from opsapp.runtime.clock import Clock
from opsapp.series.live import Live
from opsapp.tree.root import Root

_TARGET = (
    "timeout",
    "expected_status",
    "method",
    "headers",
    "follow_redirects",
    "verify_tls",
    "keyword_absent",
    "expected_value",
)

_THRESHOLDS = ("certificate_warn_days", "retry_spacing_s", "flapping_changes", "flapping_window_s")
_EMPTY: dict[type, Any] = {list: [], dict: {}}
_NAMES: dict[tuple[str, ...], tuple[str, ...]] = {}  # of phases: a handful of them for all monitors
_rules = lru_cache(maxsize=4096)(Rules)


class Entry:
    """One monitor as plain values. The hub changes `standing` with each check; a reload brings what is stored.
    `told` is what people see: the same, but never before it is committed together with its incident."""

    __slots__ = (
        "created_at",
        "id",
        "incident_id",
        "judged_at",
        "phases",
        "protocol",
        "push_token",
        "revision",
        "rules",
        "series",
        "settings",
        "slow",
        "standing",
        "subject",
        "target",
        "told",
        "uptime",
    )

    def __init__(self, monitor: Monitor, section: dict[str, Any]):
        self.id: str = monitor.id
        self.subject = f"monitor:{self.id}"
        self.created_at: int = monitor.created_at
        self.series: int = monitor.series
        self.revision = 0
        self.standing = Standing()
        self.judged_at = 0.0  # when the check began whose verdict was taken last
        self.phases: tuple[tuple[str, ...], bytes] | None = None  # of the last check, where this node made it
        self.protocol: str | None = None
        self.uptime: tuple[float, float | None] = (0.0, None)  # (computed at, percent of 24 h)
        self.slow = False
        self.take(monitor, section)

    def take(self, monitor: Monitor, section: dict[str, Any]) -> None:
        """What is stored. Failures are counted in memory only, so they live on while the status is the same."""
        stored = monitor.state.standing()
        if monitor.revision == self.revision and stored.status == self.standing.status:
            stored = replace(stored, failures=self.standing.failures)
        self.standing = self.told = stored
        self.incident_id = monitor.state.incident_id
        if monitor.revision == self.revision:
            return
        self.revision, self.push_token = monitor.revision, monitor.push_token
        settings = self.settings = {sys.intern(name): _shared(value) for name, value in monitor.settings.items()}
        self.judge_by(section)
        self.target = ProbeTarget(
            self.id,
            settings["type"],
            settings["url"],
            keyword=settings["keyword"] or "",
            json_path=settings["json_path"] or "",
            **{name: settings[name] for name in _TARGET},
        )

    def judge_by(self, section: dict[str, Any]) -> None:
        """The rules that its settings and the configuration come to; monitors that agree in them share them."""
        own, given = self.settings, tuple(section[name] for name in _THRESHOLDS)
        self.rules = _rules(own["interval"], own["timeout"], own["retries"], own["degraded_ms"], *given)

    def measured(self, outcome: Outcome) -> None:
        """What of an outcome is shown until the next one; packed, because there are so many of them."""
        self.protocol = outcome.protocol
        if outcome.phases is None:
            self.phases = None
            return
        names = tuple(outcome.phases)
        self.phases = _NAMES.setdefault(names, names), _floats(*outcome.phases.values())

    def shown_phases(self) -> dict[str, float] | None:
        if self.phases is None:
            return None
        names, packed = self.phases
        return {name: round(value, 2) for name, value in zip(names, array("f", packed), strict=True)}


def _floats(*values: float) -> bytes:
    return array("f", values).tobytes()


def _shared(value: Any) -> Any:
    """Unpickling gives every monitor copies of its own of what nearly all have in common. Settings are never changed,
    only replaced."""
    if isinstance(value, str):
        return sys.intern(value) if len(value) <= 16 else value
    if isinstance(value, dict | list) and not value:
        return _EMPTY[type(value)]
    return value


def searched(settings: dict[str, Any]) -> str:
    """What the words of a query are looked for in."""
    return f"{settings['name']} {settings['url']} {' '.join(settings['tags'])}".casefold()


def by_name(entry: Entry) -> tuple[str, str]:
    return entry.settings["name"].casefold(), entry.id


class Register:
    """Every monitor by id. Any thread may bring it up to date and read it."""

    def __init__(self, section: dict[str, Any], live: Live, clock: Clock):
        self.section = section
        self.entries: dict[str, Entry] = {}
        self._changes: set[str] = set()
        self.version = 0  # grows when a monitor comes, goes or is set otherwise
        self._ordered: list[Entry] | None = None
        self._positions: dict[str, int] | None = None
        self._read_at = 0.0
        self._live = live
        self._clock = clock
        self._lock = threading.Lock()

    def catch_up(self, root: Root) -> None:
        """Transaction function: take what was committed since the last time, as `root` sees it."""
        now = self._clock.monotonic()
        with self._lock:
            if self._positions is None or now - self._read_at > events.KEEP_S / 2:
                # The outbox may no longer reach back to where we were: read everything.
                self._positions, self._read_at = events.positions(root), now
                self._reload(root, {*self.entries, *monitors_of(root)})
                root._p_jar.cacheGC()  # what was read is plain values now
                return
            self._read_at = now
            self._positions, fresh = events.read_since(root, self._positions)
            self._reload(root, {event.data["id"] for event in fresh if event.kind == "monitor"})

    def ordered(self) -> list[Entry]:
        """All monitors by name."""
        with self._lock:
            if self._ordered is None:
                self._ordered = sorted(self.entries.values(), key=by_name)
            return self._ordered

    def use(self, section: dict[str, Any]) -> None:
        """Another configuration: its thresholds count for every monitor."""
        self.section = section
        for entry in list(self.entries.values()):
            entry.judge_by(section)

    def take_changes(self) -> set[str]:
        """Ids that were loaded, changed or dropped since this was asked last."""
        with self._lock:
            changes, self._changes = self._changes, set()
        return changes

    def _reload(self, root: Root, ids: Collection[str]) -> None:
        monitors = monitors_of(root)
        for each in ids:
            monitor = monitors.get(each)
            if monitor is None:
                self.entries.pop(each, None)
                self._differs()
                self._live.drop(f"monitor:{each}")
            else:
                self._load(each, monitor)
            self._changes.add(each)

    def _differs(self) -> None:
        self._ordered = None
        self.version += 1  # after the change: who reads this one has read the change, or asks again

    def _load(self, monitor_id: str, monitor: Monitor) -> None:
        entry = self.entries.get(monitor_id)
        differs = entry is None or entry.revision != monitor.revision
        if entry is None:
            entry = self.entries[monitor_id] = Entry(monitor, self.section)
        else:
            entry.take(monitor, self.section)
        if differs:
            self._differs()
        # What other nodes measured comes back by the journal under this name.
        self._live.bind(entry.series, entry.subject, "beat" if entry.target.type == "push" else "response_time_ms")
