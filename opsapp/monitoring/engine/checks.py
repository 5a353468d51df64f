"""Making checks: what starts them when they are due, and how many run at once.

Each engine node checks its share of the monitors; the others take over a lost node's share. A check that hangs holds a
greenlet and a socket. Monitors that were slow the last time have a lane of their own, so however many targets hang, the
others are checked in time.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import gevent

from opsapp.lib.problems import NotFound, Unavailable
from opsapp.monitoring.engine.connectivity import Connectivity
from opsapp.monitoring.engine.maintenance import WindowEdges
from opsapp.monitoring.engine.measurements import Measuring
from opsapp.monitoring.engine.register import Entry
from opsapp.monitoring.engine.watch import Watch, watch_of
from opsapp.monitoring.logic.settings import MonitoringSettings
from opsapp.monitoring.logic.shards import owns
from opsapp.monitoring.logic.state import CheckVerdict
from opsapp.monitoring.logic.timetable import Timetable, passed_within, phase
from opsapp.monitoring.probes.prober import Prober
from opsapp.runtime.cluster.nodes import BEAT_S, QUIET_AFTER_S
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import Node
from opsapp.series import FOREVER, NONE, PAUSED
from opsapp.wire.probes import Outcome

log = logging.getLogger(__name__)

TICK_S = 0.02  # checks that fall due within it begin together
LOOK_S = 0.5
FOLLOW_S = 0.5
EDGES_S = 0.5
MISSED_S = QUIET_AFTER_S + 2 * BEAT_S + LOOK_S  # so long ago a node may have died that is found gone now
MADE_UP_S = 0.5
SLOW_MS = 1000.0
NEVER = float("inf")


class CheckLane:
    """Runs checks up to a limit at once; the others wait in order."""

    def __init__(self, limit: int):
        self.limit = limit
        self.count = 0
        self.waiting: deque[tuple[str, float]] = deque()


class Checker:
    """The checks of one engine node. Lives on the hub."""

    measuring: Measuring

    def __init__(self, watch: Watch):
        self.watch = watch
        self.node = watch.node
        self.table = Timetable(self._sooner)
        self.revisions: dict[str, int] = {}  # of the settings that the table was made from
        self.nodes = self.node.nodes.working("engine")
        self.running: set[str] = set()
        self.lateness: deque[float] = deque(maxlen=10_000)  # seconds between due and begun
        self.checks = 0
        self._listens_since = self.node.clock.monotonic()
        self._config: Configuration | None = None
        self._timer: Any = None  # fires when the next check is due
        self._keeps_time = self._beginning = False
        self._armed, self._began = NEVER, 0.0
        self.configure()

    def configure(self) -> None:
        if self._config is self.node.config:
            return
        if self._config is not None:
            self.measuring.prober.retire()
        self._config = self.node.config
        section = self._config[MonitoringSettings]
        self.watch.register.use(section)
        prober = Prober.configured(self.node.clock.monotonic, section)
        connectivity = Connectivity(prober, section.references(), self.node.clock, section.connectivity_remember_s)
        self.measuring = Measuring(self.watch, prober, connectivity, self._listens_since)
        self.quick, self.slow = CheckLane(section.max_checks), CheckLane(section.max_checks)

    def apply(self, monitor_id: str, entry: Entry | None) -> None:
        if entry is None or not self.is_ours(monitor_id):
            self.table.drop(monitor_id)
            self.revisions.pop(monitor_id, None)
            return
        known = self.revisions.get(monitor_id)
        self.revisions[monitor_id] = entry.revision
        if not entry.settings.enabled:
            self._pause(entry)
        elif known != entry.revision:
            self._schedule(entry, soon=known is not None or entry.standing.status == "pending")
        elif entry.run_started is not None:
            self.table.hurry(entry.id, self.measuring.next_deadline(entry))

    def is_ours(self, monitor_id: str) -> bool:
        return owns(self.node.name, monitor_id, self.nodes)

    def share(self) -> None:
        """Share the checks whenever a node came or went: take up what another has left, leave what is another's."""
        nodes = self.node.nodes.working("engine")
        if nodes != self.nodes:
            self.nodes = nodes
            for monitor_id, entry in list(self.watch.register.entries.items()):
                had = monitor_id in self.table
                self.apply(monitor_id, entry)
                if not had and monitor_id in self.table:
                    self._make_up(entry)

    def _make_up(self, entry: Entry) -> None:
        """Check soon, but not all at once, where the node that is gone may not have made its last check."""
        interval, now = entry.settings.interval, self.node.clock.now()
        if passed_within(entry.id, interval, now, MISSED_S):
            self.table.hurry(entry.id, self.node.clock.monotonic() + phase(entry.id) * MADE_UP_S)

    def _pause(self, entry: Entry) -> None:
        if entry.id in self.table:
            self.table.drop(entry.id)
            self._mark(entry, PAUSED, FOREVER)
        self.node.series.live.update(entry.subject, {"status": "paused"}, self.node.clock.now())

    def _schedule(self, entry: Entry, *, soon: bool) -> None:
        if soon and entry.id not in self.table:
            self._mark(entry, NONE, 0)  # ends a pause in the history, if there was one
        self.table.put(entry.id, entry.settings.interval, self.node.clock.now(), self.node.clock.monotonic(), soon=soon)

    def _mark(self, entry: Entry, status: int, seconds: int) -> None:
        self.node.series.journal.mark(entry.series, int(self.node.clock.now() * 1000), status, seconds)

    def dispatch(self) -> bool:
        """Step: take the configuration and our share, and start what is due. In between a timer does that exactly when
        something is due."""
        self.configure()
        self.share()
        self._begin_due()
        return False

    def keep_time(self) -> None:
        """Called on a hub that runs: each check begins when it is due."""
        self._keeps_time = True
        self._sooner()

    def rest(self) -> None:
        """The process is to end: nothing new begins by itself."""
        self._keeps_time = False
        self._disarm()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
            self._timer = None

    def _sooner(self) -> None:
        """Let the timer fire for what is due next, never twice within a tick."""
        at = self.table.next_at()
        if not self._keeps_time or self._beginning or at is None or at >= self._armed:
            return
        self._disarm()
        loop, now = gevent.get_hub().loop, self.node.clock.monotonic()
        loop.update_now()
        self._armed = max(at, self._began + TICK_S)
        self._timer = loop.timer(max(0.0, self._armed - now))
        self._timer.start(self._begin_due)

    def _begin_due(self) -> None:
        self._armed, self._began, self._beginning = NEVER, self.node.clock.monotonic(), True
        try:
            for monitor_id, due in self.table.due(self._began):
                self._start(monitor_id, due)
        finally:
            self._beginning = False
            self._sooner()

    def _start(self, monitor_id: str, due: float) -> None:
        entry = self.watch.register.entries.get(monitor_id)
        if entry is None or monitor_id in self.running:
            return
        self.running.add(monitor_id)
        lane = self.slow if entry.slow else self.quick
        if lane.count < lane.limit:
            self._begin(lane, monitor_id, due)
        else:
            lane.waiting.append((monitor_id, due))

    def _begin(self, lane: CheckLane, monitor_id: str, due: float) -> None:
        """Most checks need no greenlet: `_ended` takes them from the hub's loop."""
        lane.count += 1
        entry = self.watch.register.entries.get(monitor_id)
        if entry is None:
            self._over(lane, monitor_id)
            return
        began = self.node.clock.monotonic()
        self.lateness.append(began - due)
        ended = partial(self._ended, lane, entry, entry.revision, began)
        if not self.measuring.begin(entry, ended):
            gevent.spawn(self._run, lane, entry, partial(self.check, entry))

    def _ended(self, lane: CheckLane, entry: Entry, revision: int, began: float, outcome: Outcome) -> None:
        """Runs on the hub's loop, where nothing may wait: what needs more than memory goes on in a greenlet."""
        self.checks += 1
        entry.slow = (self.node.clock.monotonic() - began) * 1000 > SLOW_MS
        taken = False
        try:
            same = revision == entry.revision and not entry.settings.upside_down
            taken = same and self.watch.take_steady(entry, outcome, began)
        finally:
            if taken:
                self._over(lane, entry.id)
            else:
                gevent.spawn(self._run, lane, entry, partial(self._settle, entry, revision, outcome, began))

    def _run(self, lane: CheckLane, entry: Entry, check: Callable[[], object]) -> None:
        """Runs in a greenlet, where it may wait."""
        try:
            check()
        except Exception:
            log.exception("check failed monitor=%s", entry.id)
        finally:
            self._over(lane, entry.id)

    def _over(self, lane: CheckLane, monitor_id: str) -> None:
        self.running.discard(monitor_id)
        lane.count -= 1
        if lane.waiting and lane.count < lane.limit:
            self._begin(lane, *lane.waiting.popleft())

    def check(self, entry: Entry) -> tuple[Outcome | None, CheckVerdict | None]:
        """Measure, judge and store. No outcome: there was nothing to look at yet (a push monitor that is not late)."""
        began, revision = self.node.clock.monotonic(), entry.revision
        outcome = self.measuring.measure(entry)
        self.checks += 1
        entry.slow = (self.node.clock.monotonic() - began) * 1000 > SLOW_MS
        if outcome is None:
            self.table.move(entry.id, self.measuring.next_deadline(entry))
            return None, None
        return outcome, self._judge(entry, revision, outcome, began)

    def _settle(self, entry: Entry, revision: int, outcome: Outcome, began: float) -> None:
        self._judge(entry, revision, self.measuring.confirmed(entry, outcome), began)

    def _judge(self, entry: Entry, revision: int, outcome: Outcome, began: float) -> CheckVerdict | None:
        if revision != entry.revision:  # it was looked at as it was set before: that says nothing of what it is now
            self.table.hurry(entry.id, self.node.clock.monotonic())
            return None
        verdict = self.watch.take(entry, outcome, began)
        if verdict is not None and verdict.retry_in is not None:
            self.table.hurry(entry.id, self.node.clock.monotonic() + verdict.retry_in)
        return verdict


class FreshCheck(NamedTuple):
    """A check that began, at `time`, after it was asked for."""

    status: str
    time: float
    outcome: Outcome


def request_check(node: Node, monitor_id: str) -> FreshCheck:
    """Called on the hub of an engine node. Healing measures with it again."""
    watch = watch_of(node)
    if watch.checker is None:
        raise Unavailable("This node makes no checks.", retry_after=5)
    entry = watch.register.entries.get(monitor_id)
    if entry is None:
        raise NotFound("There is no such monitor.")
    began = node.clock.now()
    outcome, _ = watch.checker.check(entry)
    return FreshCheck(entry.standing.status, began, outcome or Outcome(None))


def start(node: Node) -> None:
    """Runs on the hub, where engines run."""
    watch = watch_of(node)
    watch.checker = Checker(watch)
    node.supervisor.add("monitors", watch.follow, every=FOLLOW_S, wake=("outbox",))
    edges = WindowEdges(node, watch.register, watch.checker.table)
    node.supervisor.add("monitor-windows", edges.step, every=EDGES_S, wake=("maintenance",))
    node.supervisor.add("checks", watch.checker.dispatch, every=LOOK_S, wake=("nodes", "config"))
    watch.checker.keep_time()
    node.at_stop(watch.checker.rest, lambda: None)
