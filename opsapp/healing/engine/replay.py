"""Replay: the stages over what the ledger has recorded, under a policy that somebody is thinking about.

Each event is taken through the stages under the present policy and under the changed one; where the two part, that
is a difference. Where the same would be done, the host's recorded answers go through stages 3 and 4. Under other
`for` and `cooldown_s` an event may not have come. Windows, brake and kill switch of that time are not in the ledger:
they play no part. Must not: write, or reach a host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic import onsets
from opsapp.healing.logic.graph import Dependency, Graph, GraphNode
from opsapp.healing.logic.levels import lowest
from opsapp.healing.records import DeclaredRule, RuleRecord
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import execution
from opsapp.healing.stages.attempt import TAKEN
from opsapp.healing.stages.case import (
    About,
    CaseRecord,
    CommandedCase,
    Metrics,
    PlanningCase,
    RollingBackCase,
    SnapshotCase,
    VerifyingCase,
)
from opsapp.healing.stages.ledger import LedgerRecord, params_text
from opsapp.healing.stages.moves import EndCase, NextStep
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.stepping import Facts, following
from opsapp.healing.stages.trust import Trust
from opsapp.healing.stages.verification import Surroundings
from opsapp.healing.stages.world import Reading, World
from opsapp.healing.whatif import ReplayDifference, Replayed, ReplayedEvent, ReplayedRule
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.conditions import reread
from opsapp.wire.heals import HostAnswer

from .dependencies import refuse_mistakes
from .inventory import Member, inventory_of
from .pipeline import world_now
from .rehearse import WOULD, PolicyChange, Scene, event_about, rehearse

PAGE = 500
MOST = 20_000
DAY = 86400.0
AT_ONCE = ("suppressed", "observed", "absorbed")  # outcomes of events that ended as they arrived
THEN = {**WOULD, "notified": "notify", "simulated": "simulate"}


class LedTo(NamedTuple):
    """What would have been done, by which action, and what would have come of it."""

    does: str
    action: str | None = None
    outcome: str | None = None


NOTHING = LedTo("nothing")


def change_of(
    root: Root, rules: Sequence[DeclaredRule] | None, dependencies: Sequence[Dependency] | None
) -> PolicyChange:
    """Invalid when nothing is changed, or when it could not be declared so."""
    if rules is None and dependencies is None:
        raise Invalid({"rules": "give rules or dependencies"})
    refuse_mistakes(root, dependencies or ())
    changed = {rule.id: RuleRecord(**vars(rule)) for rule in rules or ()}
    nodes = None if dependencies is None else (GraphNode(**vars(entry)) for entry in dependencies)
    return PolicyChange(changed, None if nodes is None else Graph(nodes))


def replay(node: Node, days: float, change: PolicyChange) -> Replayed:
    """Outside any transaction: read page by page, think in a lane's thread."""
    world, inventory = node.transact(present)
    entries = list(recorded_since(node, node.clock.now() - days * DAY))
    return node.lane("replay", 1).run(compare, entries[::-1], world, inventory, change)


def recorded_since(node: Node, since: float, most: int = MOST) -> Iterator[LedgerRecord]:
    """Newest first, read page by page."""
    read, below = 0, None
    while read < most:
        page, below = node.transact(recorded, since, below)
        yield from page
        read += len(page)
        if below is None:
            return


def present(root: Root) -> tuple[World, list[Member]]:
    """Plain values: nothing that would still ask the store."""
    world = world_now(root)
    kept = ("now", "rules", "trust", "settings", "graph", "hosts", "server")
    policy = {name: getattr(world, name) for name in kept}
    return World(**policy), inventory_of(root)


def recorded(root: Root, since: float, below: int | None) -> tuple[list[LedgerRecord], int | None]:
    """A page of entries that stand for events, newest first, and where the next begins."""
    ledger = healing_of(root).ledger
    entries = ledger.entries
    top = (entries.maxKey() if entries else 0) if below is None else below - 1
    first = max(1, top - PAGE + 1)
    rows = list(ledger.records(entries.keys(first, top))) if top else []
    wanted = [row for row in reversed(rows) if row.created_at >= since and row.events and row.is_final]
    ended = not rows or first == 1 or rows[0].created_at < since
    return wanted, None if ended else first


def compare(entries: list[LedgerRecord], world: World, inventory: list[Member], change: PolicyChange) -> Replayed:
    """Compare, in a lane's thread, what the recorded events lead to now with what they would lead to after the
    change."""
    changed = change.over(world)
    gone = _not_fired(entries, world, change)
    differences: list[ReplayDifference] = []
    events = 0
    recorded, would = Counter[str](), Counter[str]()
    first = 0
    for entry in entries:
        events += entry.events
        at = entry.created_at
        while first < len(entries) and entries[first].created_at < at - world.settings.absorption_window_s:
            first += 1
        failing = _failing(entries, first, at + world.settings.hold_s)
        now = _led_to(entry, world, inventory, failing)
        then = NOTHING if entry.id in gone else _led_to(entry, changed, inventory, failing)
        recorded[entry.rule_id] += entry.events
        would[entry.rule_id] += entry.events * (then != NOTHING)
        if now != then:
            told, action = _event_of(entry), entry.action_type or None
            differences.append(
                ReplayDifference(told, _then(entry), action, entry.outcome, *then, entry.id, entry.events)
            )
    same = events - sum(difference.events for difference in differences)
    rules = tuple(ReplayedRule(rule_id, recorded[rule_id], would[rule_id]) for rule_id in change.rules)
    return Replayed(events, same, rules, tuple(differences))


def _not_fired(entries: list[LedgerRecord], world: World, change: PolicyChange) -> set[int]:
    """Return the ids of entries that would not have fired under the changed `for` and `cooldown_s` of their rule."""
    not_fired: set[int] = set()
    for rule_id, rule in change.rules.items():
        present = world.rules.get(rule_id)
        if present is None or _timing(present) == _timing(rule):
            continue
        by_target: dict[str, list[LedgerRecord]] = {}
        for entry in entries:
            if entry.rule_id == rule_id and entry.source == "alert":
                by_target.setdefault(entry.target, []).append(entry)
        for rows in by_target.values():
            alerts = [_fired(row, world.settings) for row in rows]
            fires = onsets.still_fire(alerts, _timing(present), _timing(rule))
            not_fired.update(row.id for row, fired in zip(rows, fires, strict=True) if not fired)
    return not_fired


def _timing(rule: RuleRecord) -> onsets.Timing:
    return onsets.Timing(rule.hold_s, float(rule.cooldown_s))


def _fired(entry: LedgerRecord, settings: HealingSettings) -> onsets.Fired:
    """Return when the entry's alert fired, and how long its condition is known to have held. What was verified would
    have gone on; what had a case was held first."""
    outcome, at = entry.outcome, float(entry.created_at)
    came = at if outcome in AT_ONCE else at - settings.hold_s
    until = float("inf") if outcome == "verified" else float(entry.finished_at or at)
    soon = {"suppressed": settings.absorption_window_s, "absorbed": settings.absorption_window_s - settings.hold_s}
    most, is_over = soon.get(outcome or "", float("inf")), outcome in ("verified", "withdrawn")
    return onsets.Fired(came, until, is_over, most, outcome == "absorbed")


def _failing(entries: list[LedgerRecord], first: int, until: float) -> set[str]:
    """Something was recorded of them within the window before and the hold after."""
    failing = set()
    for entry in entries[first:]:
        if entry.created_at > until:
            break
        failing.add(entry.target)
    return failing


def _event_of(entry: LedgerRecord) -> ReplayedEvent:
    about = entry.source, entry.rule_id, entry.condition, entry.target
    return ReplayedEvent(*about, entry.metrics_before, entry.created_at)


def _then(entry: LedgerRecord) -> str:
    """Tell in the words of a dry run what was done then."""
    outcome = entry.outcome or entry.state
    if outcome in TAKEN and entry.executed and not entry.approval_id:
        return "execute"
    return "request_approval" if entry.approval_id else THEN.get(outcome, "nothing")


def _led_to(entry: LedgerRecord, world: World, inventory: list[Member], failing: set[str]) -> LedTo:
    rule = world.rules.get(entry.rule_id)
    if rule is None or entry.rule_id not in world.trust:
        return NOTHING
    said = About(entry.source, rule.condition, entry.target, rule.severity, entry.metrics_before)
    event = event_about(said, entry.rule_id, inventory, float(entry.created_at))
    verdict = _verdict(event.about.condition, entry.metrics_before)
    then = replace(
        world,
        now=event.at,
        failing=failing,
        well_since=lambda _: None,  # the entry is the last look, whatever came before it
        trust={entry.rule_id: _trust(world.trust[entry.rule_id], entry, rule)},
        reading=lambda _: Reading(verdict, dict(entry.metrics_before), event.at),
    )
    rehearsed = rehearse(event, Scene(then, then))
    if rehearsed.received.kind == "open" and verdict is not True:  # it would not have fired
        return NOTHING
    if rehearsed.stop is not None:
        return LedTo(rehearsed.would)
    plan = rehearsed.plan
    action = None if plan.choice is None else plan.choice.action.name
    return LedTo(plan.would, action, _healed(entry, rehearsed.case.becomes(PlanningCase), plan, then))


def _healed(entry: LedgerRecord, case: PlanningCase, plan: Plan, world: World) -> str | None:
    """What stages 3 and 4 make of the host's recorded answers. None where nothing was done, or another action would
    be: nobody knows its answer."""
    action = (entry.action_type, entry.action_params)
    if plan.would != "execute" or plan.choice is None or not entry.executed:
        return None
    if (plan.choice.action.name, params_text(plan.choice.params)) != action:
        return None
    record: CaseRecord = execution.begin(case, plan, world).case
    measured_at = entry.created_at + entry.duration_s
    harmed = Surroundings(entry.worse)
    while True:
        if isinstance(record, VerifyingCase):
            world = _measured(entry, record, measured_at, world)
        answer = _answered(entry, record) if isinstance(record, CommandedCase) else None
        then = following(record, world, Facts(answer=answer, around=harmed))
        if isinstance(then, EndCase | NextStep):
            return then.outcome
        record, world = then.case, replace(world, now=max(world.now, getattr(then, "due", 0.0)))


def _measured(entry: LedgerRecord, record: VerifyingCase, measured_at: float, world: World) -> World:
    """When the entry's reading came, or was waited for no longer. What held at the end of its window held in all of
    it."""
    metrics = dict(entry.metrics_after)
    verdict = _verdict(record.about.condition, metrics)
    at = record.deadline if verdict else max(measured_at, record.settled_at)
    if verdict is None or at > record.deadline:
        return replace(world, now=record.deadline, reading=lambda _: Reading(None, {}, None))
    return replace(world, now=at, reading=lambda _: Reading(verdict, metrics, at))


def _answered(entry: LedgerRecord, record: CommandedCase) -> HostAnswer:
    if isinstance(record, SnapshotCase):
        return HostAnswer("done", snapshot={})
    if isinstance(record, RollingBackCase):
        return HostAnswer("done", restored=entry.rollback_status != "failed")
    if entry.action_success:
        return HostAnswer("done")
    status = "lost" if entry.outcome == "lost" else "failed"
    undone = True if entry.outcome == "rolled_back" else None
    return HostAnswer(status, entry.reason, undone=undone)


def _verdict(text: str, metrics: Metrics) -> bool | None:
    condition = reread(text)
    return None if condition is None or condition.family else condition.evaluate(metrics)


def _trust(present: Trust, entry: LedgerRecord, rule: RuleRecord) -> Trust:
    """The level of that time; a rule that does something else would have had to earn it anew."""
    level = entry.trust_level or present.current_level
    definition = rule.definition()
    if definition != present.definition:
        level = lowest(level, "notify")
    return present._replace(current_level=level, ceiling=rule.trust_ceiling, definition=definition)
