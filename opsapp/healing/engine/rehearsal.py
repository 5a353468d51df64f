"""A rule on one target over stored readings: when it would have fired, and what its level would have made of that.

The look is that of `alerts`, over a live view that is fed with the past; what follows, `rehearse` says in a world of
that time: windows by their plans, failed targets by incidents and ledger, heals by the ledger, error budgets by how
long states had lasted. Graph, hosts and settings are those of now: there is no record of others. Only looks that
could change anything are taken. What a heal would have changed nobody knows: the readings stay. Must not: know how
readings are kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, NamedTuple

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.brake import HOUR, Load
from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.stakes import BudgetLeft, RuleBudget
from opsapp.healing.resources.cases import HARMLESS
from opsapp.healing.stages.case import About, CaseRecord, ClosedCase, RuleEvent
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.trust import Trust
from opsapp.healing.stages.world import Reading, World
from opsapp.maintenance.engine import WindowPlan
from opsapp.monitoring.engine import BudgetPast, budget_pasts
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.node import Node, node_of
from opsapp.series import Live
from opsapp.tree.root import Root
from opsapp.wire.dataclass import dataclass
from opsapp.wire.readings import STALE_AFTER_INTERVALS, fresh

from .alerts import RETRY_S, Alerts, Past, WatchedRule
from .inventory import Member
from .past_readings import KeptReading, PastReport, ReadingColumn
from .readings import LiveReadings, read
from .rehearse import RehearsedEvent, Scene, rehearse
from .world import UNKNOWN, MeasuringMonitors, sick_hosts, windows_at

NEVER = float("inf")
UNSEEN = object()
MOST_KNOWN = 10_000  # verdicts that are remembered
ACTS = ("execute", "request_approval")
TrustOfRules = Mapping[str, Trust]


class FailedSpan(NamedTuple):
    target: str
    since: float
    until: float


class PastHeal(NamedTuple):
    at: float
    rule_id: str
    target: str


def incident_spans(root: Root, graph: Graph, since: float, until: float) -> list[FailedSpan]:
    """Return the failed spans of monitors that stand in the graph."""
    incidents, spans = incidents_of(root), []
    for monitor_id in list(incidents.by_monitor) if graph.nodes else ():
        for incident in incidents.touching(since, until, monitor_id):
            end = NEVER if incident.resolved is None else float(incident.resolved)
            names = {incident.monitor_name, incident.monitor_id} & graph.nodes.keys()
            spans += [FailedSpan(name, float(incident.started), end) for name in names]
    return spans


def case_spans(entries: Iterable[LedgerRecord], window_s: float) -> Iterator[FailedSpan]:
    """What ended without success counts for a while longer."""
    for entry in entries:
        ended = float(entry.finished_at or entry.created_at)
        yield FailedSpan(entry.target, float(entry.created_at), ended + window_s * (entry.outcome not in HARMLESS))


class PastBudgets:
    """Monitors, and what hangs on what, are as they are now. Only a decision says what it asks about: so a rehearsal
    is told that it is unknown, and goes once more when it was read."""

    def __init__(self, measuring: MeasuringMonitors, since: float, until: float) -> None:
        self.measuring, self.since, self.until = measuring, since, until
        self.known: dict[str, BudgetPast] = {}
        self.missing: set[str] = set()  # asked for, and not read yet
        self._window_s = 0.0

    def left(self, at: float, budget: RuleBudget, subject: str | None, names: frozenset[str]) -> Sequence[BudgetLeft]:
        monitors, self._window_s = self.measuring.of(subject, names), budget.window_s
        self.missing |= monitors.keys() - self.known.keys()
        return [BudgetLeft(name, self._of(monitor_id, at, budget)) for monitor_id, name in monitors.items()] or UNKNOWN

    def _of(self, monitor_id: str, at: float, budget: RuleBudget) -> float | None:
        past = self.known.get(monitor_id)
        return None if past is None else past.left(int(at * 1000), budget.slo, budget.window_s)

    def learn(self, node: Node) -> bool:
        """Outside any transaction. Whether there is more to go by than before."""
        if not self.missing:
            return False
        wanted, self.missing = self.missing, set()
        self.known |= node.transact(self._read, wanted)
        return True

    def _read(self, root: Root, wanted: set[str]) -> dict[str, BudgetPast]:
        pasts = budget_pasts(node_of(root), root, wanted, self.since, self.until, self._window_s)
        return {monitor_id: pasts.get(monitor_id, BudgetPast(0, ())) for monitor_id in wanted}


@dataclass
class PastWorlds:
    """The past worlds for one rule; `base` is the present world as plain values."""

    base: World
    rule_id: str
    plans: Sequence[WindowPlan]
    targets: int
    budgets: PastBudgets
    heals: list[PastHeal] = field(default_factory=list)  # in the order of time
    failed: dict[int, list[FailedSpan]] = field(default_factory=dict)  # by each hour that it reaches into

    def know_failed(self, spans: Iterable[FailedSpan]) -> None:
        for span in spans:
            last = min(span.until, self.base.now)
            for hour in range(int(span.since // HOUR), int(last // HOUR) + 1):
                self.failed.setdefault(hour, []).append(span)

    def at(self, at: float, trust: TrustOfRules, reading: Callable[[About], Reading]) -> World:
        near = self.failed.get(int(at // HOUR), ())
        failing = {span.target for span in near if span.since <= at < span.until}
        return replace(
            self.base,
            now=at,
            trust=trust,
            failing=failing,
            windows=windows_at(self.plans, at),
            budget=partial(self.budgets.left, at),
            load=lambda rule_id, target: self._load(rule_id, target, at, failing),
            reading=reading,
        )

    def _load(self, rule_id: str, target: str, at: float, failing: set[str]) -> Load:
        first = bisect_right(self.heals, at - HOUR, key=lambda heal: heal.at)
        recent = self.heals[first : bisect_right(self.heals, at, key=lambda heal: heal.at)]
        graph = self.base.graph
        own = graph.site(target)
        return Load(
            fleet=len(recent),
            site=0 if own is None else sum(graph.site(heal.target) == own for heal in recent),
            rule=sum(heal.rule_id == rule_id for heal in recent),
            target=sum(heal.target == target for heal in recent),
            sick=sick_hosts(failing, graph),
            targets=self.targets,
        )


class VerdictChange(NamedTuple):
    at: float
    verdict: bool | None


@dataclass
class Firing:
    """`over_at`: when the condition was known false again."""

    event: RuleEvent
    since: float
    again: bool
    resolution_s: float
    over_at: float | None = None
    would: str = "nothing"

    @property
    def at(self) -> float:
        return self.event.at


class HeldLevel(NamedTuple):
    """A rule's present level, and how long what the rule does at this level keeps its case open."""

    trust: TrustOfRules
    heal_s: float
    approval_s: float


class Rehearsal:
    def __init__(
        self,
        rule: WatchedRule,
        member: Member,
        kept: tuple[KeptReading, ...],
        settings: HealingSettings,
        worlds: PastWorlds,
        levels: HeldLevel,
    ) -> None:
        self.rule, self.member, self.worlds, self.levels = rule, member, worlds, levels
        self.live = Live()
        self.readings = LiveReadings(self.live)
        self.alerts = Alerts(self.readings, settings)
        self.alerts.past = lambda *_: self.past
        self.alerts.use([rule])
        self.interval = self._resolution_s = member.interval
        self.firings: list[Firing] = []
        self.changes: list[VerdictChange] = []
        self.past: Past | None = None
        self._live_names = {reading.name: reading.live for reading in kept}
        self._case: CaseRecord | None = None
        self._opened_by: Firing | None = None
        self._case_due = NEVER  # when something becomes of the open case, whatever is read
        self._acts = ""
        self._samples: dict[str, tuple[Any, float]] = {}
        self._known: dict[Any, bool | None] = {}  # the verdict by the value, or by all values
        self._verdict: bool | None = None
        self.was_open = False  # what was reported did not always decide
        self._polls = False  # time alone brings nothing: the next report may
        self._at = float("-inf")

    # -- time goes by

    def pace(self, interval_s: float, resolution_s: float) -> None:
        """Set how often readings come from now on, and how exact they are."""
        self.interval, self._resolution_s = interval_s, resolution_s
        self.readings.members = {self.member.subject: self.member._replace(interval=interval_s)}

    def take(self, report: PastReport) -> None:
        self.until(report.at)
        if report.at - self._at > STALE_AFTER_INTERVALS * self.interval and self._samples:
            self._note(self._at + STALE_AFTER_INTERVALS * self.interval, None)
        self._at = report.at
        for name, value in report.values.items():
            self._samples[name] = (value, report.at)
        verdict = self._verdict_of(report)
        self.was_open = self.was_open or verdict is None
        self._note(report.at, verdict)
        if verdict is not self._verdict or self._polls:
            self._look(report.at, verdict)

    def take_alone(self, name: str, column: ReadingColumn) -> None:
        """Take the values of one reading that nothing else belongs to. Most say the same as before, and time brings
        nothing meanwhile: of these only the last is kept."""
        stale_s, known, same = STALE_AFTER_INTERVALS * self.interval, self._known, None
        before, quiet, verdict = self._at, self._quiet_until(), self._verdict
        for read_at, value in zip(column.times, column.values, strict=True):
            if read_at < quiet and read_at - before <= stale_s and known.get(value, UNSEEN) is verdict:
                before, same = read_at, value
                continue
            if same is not None:
                self._at, self._samples[name] = before, (same, before)
            self.take(PastReport(read_at, {name: value}))
            before, quiet, verdict, same = read_at, self._quiet_until(), self._verdict, None
        if same is not None:
            self._at, self._samples[name] = before, (same, before)

    def _quiet_until(self) -> float:
        """Return until when a reading that says the same changes nothing."""
        return -NEVER if self._polls else min(self._case_due, self.alerts.watching.next_due())

    def until(self, end: float) -> None:
        while (due := min(self._case_due, NEVER if self._polls else self.alerts.watching.next_due())) < end:
            if due >= self._case_due:
                self._case_goes_on(due)
            self._look(due, self._read(due).verdict)

    def end(self, end: float) -> None:
        self.until(end)
        if self._at + STALE_AFTER_INTERVALS * self.interval < end:
            self._note(max(self._at + STALE_AFTER_INTERVALS * self.interval, 0.0), None)
        self._known.clear()

    def _note(self, at: float, verdict: bool | None) -> None:
        if not self.changes or self.changes[-1].verdict is not verdict:
            self.changes.append(VerdictChange(at, verdict))

    def _verdict_of(self, report: PastReport) -> bool | None:
        """The same values have the same verdict, where one report brings all that is kept."""
        condition, values = self.rule.condition, tuple(report.values.values())
        if len(values) < len(self._live_names):
            return self._said(condition.evaluate(fresh(self._samples, report.at, self.interval)))
        key = values[0] if len(values) == 1 else values
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._said(condition.evaluate(report.values))
        return self._known[key]

    def _said(self, verdict: bool | None) -> bool | None:
        """Without the events from elsewhere nobody can tell more than that it is false."""
        return None if verdict and self.rule.condition.reads_events else verdict

    def _read(self, at: float) -> Reading:
        return read(self._samples, self.rule.condition, at, self.interval)

    # -- a look, and what follows

    def _look(self, at: float, verdict: bool | None) -> None:
        for name, (value, measured) in self._samples.items():
            self.live.update(self.member.subject, {self._live_names[name]: value}, measured)
        self._verdict = verdict
        if verdict is False:
            for firing in self.firings[::-1]:
                if firing.over_at is not None:
                    break
                firing.over_at = at
            if self._acts:
                self._close("verified" if self._acts == "execute" else "withdrawn", "", at)
        self.alerts.dirty.add(self.member.subject)
        while self.alerts.is_behind():
            for event in self.alerts.step(at, NEVER):
                if isinstance(event, RuleEvent):
                    self._fired(event)
                    self.alerts.closed(self.rule.rule_id, event.about.target)  # its cooldown may differ now
        self._polls = self.alerts.watching.next_due() <= at + RETRY_S

    def _fired(self, event: RuleEvent) -> None:
        world = self.worlds.at(event.at, self.levels.trust, lambda _: self._read(event.at))
        seen = rehearse(event, Scene(world, world, () if self._case is None else (self._case,)))
        received = seen.received
        if event.early and (received.outcome == "suppressed" or received.root is not None):
            return
        firing = self._firing_of(event)
        if received.kind == "open":
            self._case, self._case_due, self._opened_by = seen.case, received.due, firing
            self.past = Past(event.at, open=True)
            return
        firing.would = seen.on_arrival
        if received.kind == "end":
            self.past = Past(event.at, received.outcome or "", received.reason)
        elif self._case is not None and self._case.state == ClosedCase.state:
            self.past = Past(event.at, "absorbed", received.reason)

    def _firing_of(self, event: RuleEvent) -> Firing:
        """What another case had taken in, and comes again, is the same firing."""
        if event.first_at is not None and self.firings:
            return self.firings[-1]
        [watch] = self.alerts.watching.watches.values()  # of one rule on one target
        again = any(firing.over_at is None for firing in self.firings[-1:])
        self.firings.append(Firing(event, watch.true_since or event.at, again, self._resolution_s))
        return self.firings[-1]

    def _case_goes_on(self, at: float) -> None:
        """Its hold is over, or the time that what is done about it may take."""
        case, self._case_due = self._case, NEVER
        if case is None:
            return
        if self._acts:
            self._close("failed" if self._acts == "execute" else "expired", "", at)
            return
        world = self.worlds.at(at, self.levels.trust, lambda _: self._read(at))
        firing = self._opened_by
        assert firing is not None
        held = RehearsedEvent(firing.event, case, Scene(world, world))
        correlated, firing.would = held.correlated, held.after_hold
        if correlated.kind in ("wait", "hold"):
            self._case_due = correlated.due
        elif correlated.kind == "end":
            self._close(correlated.outcome or "", correlated.reason, at)
        else:
            plan = held.plan
            self._case = replace(case, level=plan.effective.level)
            if plan.would in ACTS:
                self._acts = plan.would
                self._case_due = at + (self.levels.heal_s if plan.would == "execute" else self.levels.approval_s)
            else:
                self._close(plan.outcome or "", plan.reason, at)

    def _close(self, outcome: str, reason: str, at: float) -> None:
        case = self._case
        assert case is not None
        self._case, self._case_due, self._acts = case.becomes(ClosedCase, outcome=outcome, closed_at=at), NEVER, ""
        self.past = Past(case.opened_at, outcome, reason)
