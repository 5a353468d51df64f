"""What a draft rule would have done: `POST /api/healing/whatif`.

Readings are read some days at a time, and thought over in a lane's thread. Targets that others hang on come first:
their failures are the others' root causes. Must not: write, reach a host, or keep the readings of more than one
target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from opsapp.approvals.config import ApprovalSettings
from opsapp.healing.records import NewRule
from opsapp.healing.stages import trials
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.world import World
from opsapp.healing.whatif import PastAsked, Rehearsed
from opsapp.lib.problems import Invalid
from opsapp.maintenance.resources import plans_of
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.serieswork import SeriesRetention
from opsapp.tree.root import Root

from .alerts import WatchedRule, watched_rules
from .inventory import Inventory, Member, inventory_of
from .lift import elsewhere
from .past_readings import KeptReading, ReadingColumn, Stretch, kept_readings, merged, needs, read, stretches
from .pipeline import world_now
from .readings import instances
from .rehearsal import FailedSpan, HeldLevel, PastBudgets, PastHeal, PastWorlds, Rehearsal, case_spans, incident_spans
from .rehearsal_answers import AskedTime, PastOfTarget, PastPolicy, PastTarget, RehearsedRule, answer
from .rehearse import drafted
from .replay import recorded_since
from .world import MeasuringMonitors

LANE = "whatif"
DAY = 86400.0
LONGEST_S = 30 * DAY
WARM_UP_S = 3600.0  # before the time asked for, so that what had begun then is known
MOST_WARM_UP_S = DAY
TARGET_DAYS = 3000  # that are thought over at most
MOST_FIRINGS, MOST_CHANGES = 20_000, 200_000  # of all targets: more would fill the memory
TOO_OFTEN = "it fires, or comes and goes, too often for this time: let it hold longer, or ask about fewer days"
DRAFT = "draft"


def span_of(asked: PastAsked, now: float) -> AskedTime:
    end = now if asked.until is None else min(asked.until, now)
    start = max(0.0, end - asked.days * DAY) if asked.since is None else asked.since
    if start >= end:
        raise Invalid({"from": "must lie before `to`, and in the past"})
    if end - start > LONGEST_S:
        raise Invalid({"from": "must lie at most 30 days before `to`"})
    return AskedTime(start, end)


def policy_of(root: Root, draft: NewRule, span: AskedTime) -> PastPolicy:
    """Return, in a transaction, the draft's policy as plain values. Invalid where it would be more than can be thought
    over."""
    node, world = node_of(root), world_now(root)
    rule_id = draft.id or DRAFT
    world = drafted(root, rule_id, draft, world).over(world)
    rule = replace(world.rules[rule_id], enabled=True)
    [watched] = watched_rules([rule])
    inventory = inventory_of(root)
    targets, without = _targets(root, watched, inventory)
    most = int(TARGET_DAYS * DAY / (span.until - span.since))
    if len(targets) > most:
        raise Invalid({"days": f"for {len(targets)} targets this is too long: {most} of them at most, or fewer days"})
    plain = World(
        now=world.now, rules={rule_id: rule}, trust={}, settings=world.settings, graph=world.graph,
        hosts={key: host._replace(online=True) for key, host in world.hosts.items()}, server=world.server,
    )  # fmt: skip
    budgets = PastBudgets(MeasuringMonitors(inventory, world.graph), span.since - MOST_WARM_UP_S, span.until)
    worlds = PastWorlds(plain, rule_id, plans_of(root), len(inventory), budgets)
    worlds.know_failed(incident_spans(root, world.graph, span.since, span.until))
    trust, window_s = world.trust[rule_id], trials.window_of(rule_id, world)
    levels = HeldLevel({rule_id: trust}, window_s, node.config[ApprovalSettings].expiry_s)
    ceiling = {rule_id: trust._replace(current_level=rule.trust_ceiling)}
    known = elsewhere(root, rule)
    retention = node.config[SeriesRetention]
    named = {reading.name for place in targets for reading in place.kept}
    not_kept = tuple(name for name in watched.condition.names if not _is_among(name, named))
    return PastPolicy(watched, worlds, levels, ceiling, window_s, targets, without, not_kept, known, retention)


def _targets(root: Root, watched: WatchedRule, inventory: Inventory) -> tuple[list[PastTarget], list[Member]]:
    targets, without = [], []
    for member in inventory:
        if not watched.applies(member):
            continue
        kept = kept_readings(root, member)
        bound = instances(watched.condition, member, [reading.name for reading in kept])
        places = [PastTarget(member, condition, needs(condition, kept)) for condition in bound]
        places = [place for place in places if place.kept]
        targets += places
        if not places and watched.scope is not None:
            without.append(member)
    return targets, without


def _is_among(name: str, names: set[str]) -> bool:
    return name in names or any(fnmatchcase(kept, name) for kept in names)


def rehearse(node: Node, policy: PastPolicy, span: AskedTime) -> Rehearsed:
    """Outside any transaction. All that are asked for at once share one thread."""
    entries, lane = list(recorded_since(node, span.since - DAY)), node.lane(LANE, 1)
    lane.run(_know, policy, entries)
    seen: list[PastOfTarget] = []
    for place in lane.run(_roots_first, policy):
        seen.append(_through(node, policy, place, span))
        _refuse_too_many(seen)
    seen += [PastOfTarget(member.name, member) for member in policy.without]
    return _answered(node, RehearsedRule(policy, span, node.clock.now(), seen, entries))


def _answered(node: Node, rehearsed: RehearsedRule) -> Rehearsed:
    """What heals would have begun counts while it is answered, so each answer begins without them."""
    worlds, lane = rehearsed.policy.worlds, node.lane(LANE, 1)
    heals = list(worlds.heals)
    answered = lane.run(answer, rehearsed)
    while worlds.budgets.learn(node):
        worlds.heals = list(heals)
        answered = lane.run(answer, rehearsed)
    return answered


def _know(policy: PastPolicy, entries: Sequence[LedgerRecord]) -> None:
    worlds = policy.worlds
    others = [entry for entry in entries if entry.rule_id != worlds.rule_id]
    worlds.know_failed(case_spans(others, worlds.base.settings.absorption_window_s))
    worlds.heals = sorted(
        PastHeal(float(entry.created_at), entry.rule_id, entry.target)
        for entry in others
        if entry.executed and not entry.escalation_step
    )


def _roots_first(policy: PastPolicy) -> list[PastTarget]:
    graph = policy.worlds.base.graph
    return sorted(policy.targets, key=lambda place: (len(graph.ancestors(place.target)), place.target))


def _through(node: Node, policy: PastPolicy, place: PastTarget, span: AskedTime) -> PastOfTarget:
    """Again until the error budgets that it asks for are known."""
    rehearsal = _lived(node, policy, place, span)
    while policy.worlds.budgets.learn(node):
        rehearsal = _lived(node, policy, place, span)
    firings = [firing for firing in rehearsal.firings if firing.at >= span.since]
    if place.target in policy.worlds.base.graph.nodes:
        fired = [firing for firing in rehearsal.firings if not firing.again]
        policy.worlds.know_failed(
            FailedSpan(place.target, firing.at, span.until if firing.over_at is None else firing.over_at)
            for firing in fired
        )
    return PastOfTarget(place.target, place.member, firings, rehearsal.changes, rehearsal.was_open)


def _lived(node: Node, policy: PastPolicy, place: PastTarget, span: AskedTime) -> Rehearsal:
    now = int(node.clock.now() * 1000)
    warm_up = min(MOST_WARM_UP_S, policy.watched.hold_s + policy.watched.cooldown_s + WARM_UP_S)
    rehearsal = Rehearsal(
        policy.watched._replace(condition=place.condition), place.member, place.kept,
        policy.worlds.base.settings, policy.worlds, policy.levels,
    )  # fmt: skip
    parts = stretches(policy.retention, int((span.since - warm_up) * 1000), int(span.until * 1000) + 1, now)
    for part in parts:
        stretch, columns = node.transact(read, place.kept, part)
        node.lane(LANE, 1).run(_take, rehearsal, place.kept, stretch, columns)
    node.lane(LANE, 1).run(rehearsal.end, span.until)
    return rehearsal


def _refuse_too_many(seen: Sequence[PastOfTarget]) -> None:
    firings = sum(len(place.firings) for place in seen)
    changes = sum(len(place.changes) for place in seen)
    if firings > MOST_FIRINGS or changes > MOST_CHANGES:
        raise Invalid({"rule.condition": TOO_OFTEN})


def _take(
    rehearsal: Rehearsal, kept: Sequence[KeptReading], stretch: Stretch, columns: Sequence[ReadingColumn]
) -> None:
    own = rehearsal.member.interval
    width_s = stretch.width / 1000
    rehearsal.pace(max(own, stretch.interval_s) if stretch.width else own, max(own, width_s))
    if len(kept) == 1:
        rehearsal.take_alone(kept[0].name, columns[0])
        return
    for report in merged(columns, kept):
        rehearsal.take(report)
