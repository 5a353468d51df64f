"""The world as it was when a draft rule would have fired: what the stages read, built of what is on record.

Windows by their plans, failed targets by incidents and ledger, heals of an hour by the ledger. The graph, the hosts and
the settings are those of now: of what they were there is no record. Must not: judge; stages do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from opsapp.healing.logic.brake import HOUR, Load
from opsapp.healing.logic.graph import Graph
from opsapp.healing.resources.cases import HARMLESS
from opsapp.healing.stages.case import About
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.trust import Trust
from opsapp.healing.stages.world import Reading, World
from opsapp.maintenance.engine import WindowPlan
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.projection import among
from opsapp.tree.root import Root

from .failures import sick_hosts
from .windows import on_at

NEVER = float("inf")
Reader = Callable[[About], Reading]


class FailedSpan(NamedTuple):
    """A target had failed from then until then."""

    target: str
    since: float
    until: float


class PastHeal(NamedTuple):
    """A heal that counts against the limits of an hour."""

    at: float
    rule_id: str
    target: str


def incident_spans(root: Root, graph: Graph, since: float) -> list[FailedSpan]:
    """When monitors were down that stand in the graph."""
    incidents, spans = incidents_of(root), []
    for ids in incidents.by_monitor.values() if graph.nodes else ():
        for _, incident in among(incidents, "incident", list(ids)):
            until = NEVER if incident.resolved is None else float(incident.resolved)
            names = {incident.monitor_name, incident.monitor_id} & graph.nodes.keys()
            spans += [FailedSpan(name, float(incident.started), until) for name in names if until >= since]
    return spans


def case_spans(entries: Iterable[LedgerRecord], window_s: float) -> Iterator[FailedSpan]:
    """Targets with a case, and those whose case has ended without success, as long as that counts."""
    for entry in entries:
        ended = float(entry.finished_at or entry.created_at)
        yield FailedSpan(entry.target, float(entry.created_at), ended + window_s * (entry.outcome not in HARMLESS))


@dataclass
class PastWorlds:
    """Worlds of the past, for one rule. `base` is the present one as plain values."""

    base: World
    rule_id: str
    plans: Sequence[WindowPlan]
    targets: int
    heals: list[PastHeal] = field(default_factory=list)  # in the order of time
    failed: dict[int, list[FailedSpan]] = field(default_factory=dict)  # by each hour that it reaches into

    def know_failed(self, spans: Iterable[FailedSpan]) -> None:
        for span in spans:
            last = min(span.until, self.base.now)
            for hour in range(int(span.since // HOUR), int(last // HOUR) + 1):
                self.failed.setdefault(hour, []).append(span)

    def at(self, at: float, trust: Trust, reading: Reader) -> World:
        near = self.failed.get(int(at // HOUR), ())
        failing = {span.target for span in near if span.since <= at < span.until}
        return replace(
            self.base,
            now=at,
            trust={self.rule_id: trust},
            failing=failing,
            windows=on_at(self.plans, at),
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
