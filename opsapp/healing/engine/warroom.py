"""What healing knows about an incident: the heals of its monitor and host, what it depends on, what has helped; and
what failures come from, by the graph, for whoever tells people of them.

Must not: decide; `stages.correlation` does, as for cases.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from opsapp.automations.engine import Outage, outages_of
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.graph import Graph
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.ledger import Ledger
from opsapp.healing.stages import correlation
from opsapp.healing.stages.correlation import ROOT_CAUSE
from opsapp.healing.stages.ledger import LedgerRecord, effectiveness
from opsapp.healing.stages.world import World
from opsapp.monitoring.interfaces import WarRoomSection
from opsapp.monitoring.records import IncidentRecord, StandsOn, SuggestedRemedy, WarRoomEvent
from opsapp.monitoring.resources import monitors_of
from opsapp.notify.interfaces import Failure, RootCause
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import after_commit
from opsapp.tree.root import Root
from opsapp.wire.records import plain
from opsapp.wire.spoken import spoken_action, spoken_condition, spoken_target

from . import world
from .casestory import wave_of
from .inventory import Inventory, inventory_of
from .pipeline import engine_of

MOST = 50
BEFORE_S = 3600
DOUBT_S = 300  # what ended so shortly before a check that failed may have to do with it
NEWEST_BELOW = 5
SUPPRESSED = ("suppressed", "absorbed")
REFUSED = ("rejected", "expired", "withdrawn")
MEASURED = ("verified", "failed", "inconclusive", "rolled_back")


def section(root: Root, incident: IncidentRecord, now: float) -> WarRoomSection:
    """An `IWarRoomSection`."""
    healing, names = healing_of(root), _names(root, incident)
    ledger = healing.ledger
    rows = {row.id: row for name in names for row in ledger.page(None, name, MOST, 0)[1]}
    heals = [row for row in rows.values() if _belongs(row, incident, now)]
    heals = sorted([*heals, *_held_down(healing, names, incident, now)], key=lambda row: row.id)
    return WarRoomSection(
        heals=[{**plain(ledger.shown(row)), "wave": _wave(root, row.case_id)} for row in heals],
        events=_events(heals),
        dependencies=_dependencies(healing, names, causes_of(root, names, now)),
        suggested_automations=_helped(
            ledger, [*rows.values()], incident.monitor_name, outages_of(root, incident.monitor_id, now)
        ),
    )


def _wave(root: Root, case_id: str | None) -> dict[str, object] | None:
    healing, settings = healing_of(root), node_of(root).config[HealingSettings]
    record = None if case_id is None else healing.book.record_of(case_id)
    wave = None if record is None else wave_of(healing, record, settings)
    return None if wave is None else plain(wave)


def _belongs(row: LedgerRecord, incident: IncidentRecord, now: float) -> bool:
    """It began shortly before the incident or in it, and was not over before it."""
    since, until = incident.started - BEFORE_S, incident.resolved or now
    return since <= row.created_at <= until and (row.finished_at or now) >= incident.started - DOUBT_S


def _held_down(healing: Healing, names: list[str], incident: IncidentRecord, now: float) -> list[LedgerRecord]:
    """What hangs on the incident's monitor and host, and was left alone for their sake."""
    graph, ledger = healing.dependencies.graph(), healing.ledger
    below = [target for target in graph.nodes if not graph.ancestors(target).keys().isdisjoint(names)]
    begins = tuple(f"{ROOT_CAUSE} {name}:" for name in names)
    rows = [row for target in below[:MOST] for row in ledger.page(None, target, NEWEST_BELOW, 0)[1]]
    held_down = [row for row in rows if row.reason.startswith(begins) and _belongs(row, incident, now)]
    return [row for row in held_down if row.target not in names]


def _names(root: Root, incident: IncidentRecord) -> list[str]:
    if incident.monitor_id is None:
        return []
    monitor = monitors_of(root).find(incident.monitor_id)
    agent_id = monitor.record.agent_id if monitor is not None else None
    hosts = [member.name for member in inventory_of(root).agents if member.agent_id == agent_id]
    return [incident.monitor_name, *hosts]


def _events(heals: list[LedgerRecord]) -> list[WarRoomEvent]:
    """List the events in order: an alert for each case, then the steps of each of its entries."""
    told, cases = [], set()
    for row in heals:
        if row.case_id not in cases and not row.rolls_back:
            cases.add(row.case_id)
            trouble = f"{spoken_target(row.target)}: {spoken_condition(row.condition)}"
            told.append(_event(row, "alert", f"{trouble} (rule {row.rule_id})"))
        told += _steps(row)
    return sorted(told, key=lambda event: event.time)


def _steps(row: LedgerRecord) -> list[WarRoomEvent]:
    outcome = row.outcome or row.state
    target = spoken_target(row.target)
    what = f"{spoken_action(row.action_type)}, {target}" if row.action_type else target
    ended = f"{what}: {outcome}" + (f" ({row.reason})" if row.reason else "")
    if outcome in SUPPRESSED:
        return [_event(row, "suppression", ended, late=True)]
    steps = [_event(row, "plan", f"{what}: step {row.escalation_step + 1} is planned")] if row.action_type else []
    if row.approval_id:
        steps.append(_event(row, "approval", f"{what}: approval {row.approval_id} is asked for"))
    if row.action_type and _ran(row):
        steps.append(_event(row, "action", f"{what} runs", late=bool(row.approval_id)))
    kinds = {**dict.fromkeys(REFUSED, "approval"), **dict.fromkeys(MEASURED, "verification")}
    if row.outcome is not None and row.finished_at:
        steps.append(_event(row, kinds.get(outcome, "heal"), ended, late=True))
    return steps


def _ran(row: LedgerRecord) -> bool:
    under_way = row.state in ("executing", "settling", "verifying")
    return under_way or (row.outcome in MEASURED and not row.reason.startswith("no_capable_handler"))


def _event(row: LedgerRecord, kind: str, text: str, *, late: bool = False) -> WarRoomEvent:
    at = (row.finished_at if late else None) or row.created_at
    return WarRoomEvent(at, kind, text, ledger_id=row.id)


def _dependencies(healing: Healing, names: list[str], causes: Mapping[str, str]) -> list[StandsOn]:
    """`root_cause` is true for what has failed."""
    graph = healing.dependencies.graph()
    return [
        StandsOn(name, above, path, causes.get(name) == above)
        for name in names
        for above, path in graph.ancestors(name).items()
    ]


def _helped(ledger: Ledger, rows: list[LedgerRecord], monitor: str, outages: Sequence[Outage]) -> list[SuggestedRemedy]:
    """Best first by the lower bound of their success: what was tried for the monitor itself counts whole, what was
    tried for something else of its host half."""
    tried: dict[tuple[str, str], list[LedgerRecord]] = {}
    for row in rows:
        if row.action_type:
            tried.setdefault((row.action_type, row.condition), []).append(row)
    helpful = []
    for (action, condition), entries in tried.items():
        measured = effectiveness(action, condition, *ledger.statistics(action, condition))
        if measured.total:
            own = any(row.target == monitor for row in entries)
            score = (measured.lower_bound or 0) / (100 if own else 200)
            ended = [_ended(entries, outage) for outage in outages]
            tried_here, helped_here = len(ended) - ended.count(None), ended.count(True)
            remedy = SuggestedRemedy(
                **vars(measured), tried_here=tried_here, helped_here=helped_here, score=round(score, 4)
            )
            helpful.append(remedy)
    return sorted(helpful, key=lambda remedy: (-remedy.score, remedy.action_type))


def _ended(entries: list[LedgerRecord], outage: Outage) -> bool | None:
    """Whether a verified one ended the outage; None where none was measured in it."""
    measured = [row for row in entries if row.outcome in MEASURED and row.created_at <= outage.ended]
    ends = [(row.outcome, row.finished_at or 0) for row in measured]
    within = [(outcome, at) for outcome, at in ends if at >= outage.started]
    return any(outcome == "verified" and outage.ended_by(at) for outcome, at in within) if within else None


def causes_of(root: Root, targets: Collection[str], now: float) -> dict[str, str]:
    """An `IRootCauses`. A target may be named by an id. Unlike healing this asks for no rule: what is away, or has
    an open incident, has failed."""
    graph = healing_of(root).dependencies.graph()
    asked = _hanging(graph, targets)
    if not asked:
        return {}
    inventory = inventory_of(root)
    failing = _failing(root, inventory, graph, now)
    above = {target: graph.suppressor(inventory.in_graph(target), failing) for target in asked}
    return {target: cause[0] for target, cause in above.items() if cause is not None}


def causes(root: Root, failures: Collection[Failure], now: float) -> dict[Failure, RootCause]:
    """An `ICauses`."""
    graph = healing_of(root).dependencies.graph()
    hanging = set(_hanging(graph, [failure.target for failure in failures]))
    if not hanging:
        return {}
    inventory = inventory_of(root)
    seen = world.build(root, now, inventory, {})
    seen = replace(seen, failing=_failing(root, inventory, graph, now))
    asked: set[str] = set()
    causes_found: dict[Failure, RootCause] = {}
    for failure in failures:
        if failure.target in hanging:
            causes_found[failure], unmeasured = _cause(failure, seen, inventory)
            asked.update(subject for name in unmeasured for subject in inventory.measuring(name))
    _measure(root, asked)
    return causes_found


def _cause(failure: Failure, seen: World, inventory: Inventory) -> tuple[RootCause, tuple[str, ...]]:
    """Return the failure's root cause, and what has to be measured before it is known."""
    member = inventory.named(failure.target)
    since = seen.now if failure.since is None else failure.since
    above = correlation.look_above(inventory.in_graph(failure.target), member and member.subject, since, seen)
    name = None if above.cause is None else above.cause.name
    if failure.since is None:
        return RootCause(name), ()
    held, _ = correlation.held_for(above, seen.now - since, seen)
    return RootCause(name, held), above.unmeasured if held else ()


def _measure(root: Root, subjects: Collection[str]) -> None:
    node = node_of(root)
    engine = engine_of(node)
    if engine is not None and subjects:
        after_commit(root, node.post, engine.measure, sorted(subjects))


def _hanging(graph: Graph, targets: Collection[str]) -> Collection[str]:
    """Without a graph only what is on a host."""
    return targets if graph.nodes else [target for target in targets if "/" in target]


def _failing(root: Root, inventory: Inventory, graph: Graph, now: float) -> set[str]:
    window = node_of(root).config[HealingSettings].absorption_window_s
    failing = world.failing_of(root, inventory, graph.nodes, {}, now, window)
    return failing | {name for name, _ in world.down(root)}
