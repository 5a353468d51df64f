"""What this node remembers of agents without asking the store: when each was heard, its latest report, its series.

Every report passes here, on the hub, so that conditions and streams see it at once. Must not: write to the store.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, NamedTuple, TypeVar

from opsapp.agents.config import AgentSettings, NamedMetrics, ProtectedSettings
from opsapp.agents.logic import MOST_NAMED, by_our_clock, changed_profile, kept_of, skew_of
from opsapp.runtime.clocks.clock import STEP_S
from opsapp.runtime.node import Node
from opsapp.runtime.watchers import Watchers
from opsapp.wire import readings
from opsapp.wire.dataclass import dataclass
from opsapp.wire.reports import HostReport, Measurement

from .directory import AgentFacts, directory_of

log = logging.getLogger(__name__)

KEY = "opsapp.agents.memory"
MOST_WORDS = 50_000
MAPPINGS = ("metrics", "services", "starts", "containers", "disks", "temperatures")
REMEMBERED = tuple(field.name for field in fields(Measurement))
OLDEST_SPOOLED_S = 7 * 86_400
STREAM_S = 5.0
MOST_NAMES = 10_000  # of one agent; a report carries fewer
FEW_NAMES = 200
FEW_CLOCKS = 8
MOST_LATE_S = 60.0  # a live message does not take longer: agents keep older ones as history
OLD_NAME_S = 3600.0
WATCHED_FOR_S = 60.0  # what another node said of its readers counts so long

Watcher = Callable[[Measurement, float], None]
T = TypeVar("T")


class Poller(NamedTuple):
    machine: str
    key_digest: str
    at: float


@dataclass(slots=True)
class Heard:
    at: float
    report: Measurement | None = None
    profile: Mapping[str, str] = field(default_factory=dict)
    ip: str = ""
    stored_at: float = 0.0
    poller: Poller | None = None
    ahead: deque[float] = field(default_factory=lambda: deque(maxlen=FEW_CLOCKS))  # its clock less ours, seen lately

    def move(self, by: float) -> None:
        self.at += by
        self.stored_at += by
        self.poller = None if self.poller is None else self.poller._replace(at=self.poller.at + by)
        self.ahead = deque((seen - by for seen in self.ahead), maxlen=FEW_CLOCKS)


class SharedTexts:
    """Hosts are alike: the same names and states in thousands of reports are one string each."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def word(self, text: Any) -> Any:
        if not isinstance(text, str):
            return text
        if len(self._known) >= MOST_WORDS:
            self._known.clear()
        return self._known.setdefault(text, text)

    def shared(self, values: Mapping[str, T]) -> dict[str, T]:
        word = self.word
        return {word(name): word(value) for name, value in values.items()}

    def slim(self, report: Measurement) -> Measurement:
        """What was measured, without what was stored elsewhere."""
        values = {name: getattr(report, name) for name in REMEMBERED}
        return Measurement(**values | {name: self.shared(values[name]) for name in MAPPINGS})


class Memory:
    """One per node."""

    def __init__(self, node: Node):
        self.node = node
        self.heard: dict[str, Heard] = {}
        self.series: dict[str, dict[str, int]] = {}
        self.connected: set[str] = set()
        self.on_heard: Callable[[str, Measurement], None] = lambda agent_id, report: None
        self.on_watching: Callable[[], None] = lambda: None
        self._watchers = Watchers()
        self.taken = {"live": 0, "spooled": 0}
        self._words = SharedTexts()
        self._watched_there: dict[str, tuple[float, frozenset[str]]] = {}
        self._has_too_many: set[str] = set()
        self._nobody_listened_at: float | None = None
        node.clock_steps.follow(self.move)

    def move(self, by: float) -> None:
        """Our clock was set by so many seconds: who was heard was so as long ago as before."""
        for heard in list(self.heard.values()):
            heard.move(by)
        if self._nobody_listened_at is not None:
            self._nobody_listened_at += by

    @property
    def listens_since(self) -> float:
        """Since when agents can reach this node, or another one that tells it."""
        started_at = self.node.started_at
        return started_at if self._nobody_listened_at is None else max(started_at, self._nobody_listened_at)

    def nobody_listens(self) -> None:
        """No node that agents report to is alive now."""
        self._nobody_listened_at = self.node.clock.now()

    @property
    def interval(self) -> float:
        return self.node.config[AgentSettings].report_interval_s

    @property
    def protected(self) -> list[str]:
        return list(self.node.config[ProtectedSettings].processes)

    @property
    def named(self) -> tuple[str, ...]:
        """Metrics that are history beside those that always are."""
        return self.node.config[NamedMetrics].metrics

    def kept(self, report: Measurement) -> dict[str, float]:
        return kept_of(report, self.named).values

    def interval_of(self, agent_id: str) -> float:
        """The seconds between reports, fewer while somebody watches."""
        interval = min(self.interval, STREAM_S) if self._is_watched(agent_id) else self.interval
        return int(interval) if interval == int(interval) else interval

    def _is_watched(self, agent_id: str) -> bool:
        """Here, or on a node that said so not long ago."""
        since = self.node.clock.monotonic() - WATCHED_FOR_S
        elsewhere = self._watched_there.values()
        return agent_id in self._watchers or any(at > since and agent_id in watched for at, watched in elsewhere)

    def watched_here(self) -> list[str]:
        return list(self._watchers)

    def watched_there(self, node: str, agent_ids: list[str]) -> None:
        """Whom the readers of another node watch."""
        self._watched_there[node] = (self.node.clock.monotonic(), frozenset(agent_ids))

    def bind(self, agent_id: str, series: Mapping[str, int]) -> None:
        self.series[agent_id] = dict(series)
        for name, number in series.items():
            self.node.series.live.bind(number, subject(agent_id), name)

    def forget(self, agent_id: str) -> None:
        self.heard.pop(agent_id, None)
        self.series.pop(agent_id, None)
        self._has_too_many.discard(agent_id)
        self.node.series.live.drop(subject(agent_id))

    def know(self, agent_id: str, profile: Mapping[str, str], ip: str, at: float) -> None:
        """What the record says by now, so that the next equal report needs no transaction."""
        heard = self.heard.setdefault(agent_id, Heard(at))
        heard.profile, heard.ip, heard.stored_at = dict(profile), ip, at
        heard.at = max(heard.at, at)

    def polled(self, agent_id: str, poller: Poller) -> None:
        self.heard.setdefault(agent_id, Heard(poller.at)).poller = poller

    def is_polled_by_another(self, agent_id: str, poller: Poller) -> bool:
        """Whether another machine, which is there still, polls with the same key. A new key may be on a new one."""
        heard = self.heard.get(agent_id)
        last = None if heard is None else heard.poller
        if last is None or last.key_digest != poller.key_digest or last.machine in ("", poller.machine):
            return False
        return poller.at - last.at <= 2 * self.interval

    def tells_news(self, agent_id: str, report: HostReport, ip: str) -> bool:
        """Whether the store has to hear of this report."""
        heard, now = self.heard.get(agent_id), self.node.clock.now()
        if heard is None or heard.ip != (report.ip or ip) or changed_profile(heard.profile, report):
            return True
        if now - heard.at > 2 * self.interval or now - heard.stored_at > 20 * self.interval:
            return True
        if report.results or report.outcomes or report.capabilities:
            return True
        return not self.kept(report).keys() <= self.series.get(agent_id, {}).keys()

    def observe(self, agent_id: str, report: HostReport, at: float) -> None:
        """Take in a report; a spooled one is history alone."""
        spooled = report.is_spooled
        self.taken["spooled" if spooled else "live"] += 1
        measured = min(at, report.time or 0.0) if spooled else at
        if measured > at - OLDEST_SPOOLED_S:
            self._keep(agent_id, report, measured)
        if spooled:
            heard = self.heard.setdefault(agent_id, Heard(at))
            heard.at = max(heard.at, at)
            return
        self.hear(agent_id, report, at)
        self.on_heard(agent_id, report)

    def hear(self, agent_id: str, report: Measurement, at: float) -> None:
        """Take in a live report, to this node or to another, without any history."""
        heard = self.heard.setdefault(agent_id, Heard(at))
        report = self._words.slim(report)
        heard.at, heard.report = max(heard.at, at), report
        measured, skew = self.note_clock(agent_id, report.time, at), self.skew(agent_id)
        off = {} if skew is None else {readings.CLOCK_OFF: round(abs(skew), 1)}
        word = self._words.word  # of the names: the states are shared by now
        values = {word(name): value for name, value in (readings.of_report(report) | off).items()}
        self.node.series.live.update(subject(agent_id), values, measured)
        self._forget_old_names(agent_id, len(values), at)
        self.node.wake("live")
        self._watchers.call(agent_id, report, at)

    def note_clock(self, agent_id: str, agent_time: float | None, at: float) -> float:
        """What the host's clock showed when it began a message that came at `at`; when that was by our clock. A message
        that waited, while we were restarted for one, says what was."""
        if agent_time is None:
            return at
        heard = self.heard.setdefault(agent_id, Heard(0.0))
        if heard.ahead and agent_time - at < max(heard.ahead) - MOST_LATE_S:  # somebody has set the clock back
            heard.ahead.clear()
        heard.ahead.append(agent_time - at)
        return by_our_clock(agent_time, self.skew(agent_id), at)

    def skew(self, agent_id: str) -> float | None:
        """Seconds by which the host's clock is ahead of ours; None while nobody knows."""
        heard = self.heard.get(agent_id)
        return None if heard is None else skew_of(heard.ahead)

    def skew_with(self, agent_id: str, report: HostReport, at: float) -> float | None:
        """The clock's skew as measured with a report that has just come."""
        heard = self.heard.get(agent_id)
        fresh = [] if report.time is None or report.is_spooled else [report.time - at]
        return skew_of([*(heard.ahead if heard else ()), *fresh])

    def _forget_old_names(self, agent_id: str, now_said: int, at: float) -> None:
        """What has not been reported for long says nothing any more; and one agent may not fill this node."""
        live, word = self.node.series.live, subject(agent_id)
        known = live.names(word)
        if known > MOST_NAMES:
            live.forget(word, at)
        elif known > 2 * now_said + FEW_NAMES:
            live.forget(word, at - max(OLD_NAME_S, 20 * self.interval))

    def _keep(self, agent_id: str, report: Measurement, at: float) -> None:
        numbers = self.series.get(agent_id, {})
        kept = kept_of(report, self.named)
        for name, value in kept.values.items():
            if name in numbers:
                self.node.series.journal.add(numbers[name], int(at * 1000), value)
        if kept.left_out and agent_id not in self._has_too_many:
            self._has_too_many.add(agent_id)
            log.warning(
                "agent %s reports %d metrics too many that healing.prediction.metrics names: of one host the first %d "
                "by name are kept as history", agent_id, kept.left_out, MOST_NAMED)  # fmt: skip

    def watch(self, agent_id: str, watcher: Watcher) -> Callable[[], None]:
        """`watcher(report, at)` for every live report from now on; ends by calling what this returns."""
        stop = self._watchers.watch(agent_id, watcher)
        self.on_watching()

        def end() -> None:
            stop()
            if agent_id not in self._watchers:
                self.on_watching()

        return end

    def last_seen(self, agent_id: str, stored: float | None) -> float | None:
        """The latest sign of life that this node knows: its own, the store's, other nodes' by the journal."""
        heard = self.heard.get(agent_id)
        # What other nodes heard comes by the journal, as these series alone; all else was heard here.
        observed = self.node.series.live.observed_at(subject(agent_id), *self.series.get(agent_id, ()))
        newest = stored
        if stored is not None and stored > self.node.clock.now() + STEP_S:  # stored before the clock was set back
            newest = self.node.started_at
        if heard is not None and (newest is None or heard.at > newest):
            newest = heard.at
        return observed if observed is not None and (newest is None or observed > newest) else newest

    def follow(self, agent_id: str, facts: AgentFacts | None) -> None:
        if facts is None:
            self.forget(agent_id)
        elif facts.series != self.series.get(agent_id):
            self.bind(agent_id, facts.series)


def subject(agent_id: str) -> str:
    """An agent's word in the live view."""
    return f"agent:{agent_id}"


def memory_of(node: Node) -> Memory:
    return node.registry[KEY]


def remember(node: Node) -> None:
    """Called before anything is served: the series of all agents are bound, so that the journal's tail fills the live
    view."""
    memory = node.registry[KEY] = Memory(node)
    directory = directory_of(node)
    directory.on_change = memory.follow
    node.transact(directory.catch_up)
