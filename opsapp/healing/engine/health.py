"""How the pipeline is: Active, Paused or Degraded, and why. Only what is so now degrades. And what /metrics says of
healing: from the store, so every node says the same, after a restart too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from opsapp.agents.engine import executor_history, executor_trouble, not_held
from opsapp.audit.engine import forwarding_trouble
from opsapp.auth.engine import directory_trouble, provider_trouble
from opsapp.healing.config import HealingSettings
from opsapp.healing.health_answers import AnomalyBudget, Health
from opsapp.healing.logic import brake
from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.stakes import OF_WINDOWS
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages.world import World
from opsapp.maintenance.engine import healing_windows
from opsapp.runtime.cluster import peers
from opsapp.runtime.families import counter, gauge
from opsapp.runtime.node import node_of
from opsapp.runtime.secrets import seals
from opsapp.runtime.threads.supervisor import WorkerState
from opsapp.tree.root import Root

from . import holds
from .inventory import inventory_of
from .pipeline import LEASE, engine_of, world_now

LATE_S = 10.0
OLD_S = 60.0
SLOW_S = 1.0


def health_of(root: Root) -> Health:
    node, healing = node_of(root), healing_of(root)
    now, open_to = node.clock.now(), not_held(node)
    components = [worker for worker in node.supervisor.status() if worker.name.startswith("healing-")]
    paused, sick = _paused(root, healing, now), _sick(root, healing, components, now)
    book = healing.book
    return Health(
        "Paused" if paused else "Degraded" if sick else "Active",
        tuple(paused + sick),
        tuple(_notes(root)),
        tuple(holds.standing(root, now)),
        tuple(components),
        len(book.under_way) + len(book.messages),
        len(book.under_way.keys(None, (True,))),
        book.last_event_at,
        None if open_to is None else not open_to,
        None if open_to is None else tuple(open_to),
        AnomalyBudget(node.config[HealingSettings].prediction.false_anomalies_a_week, healing.foresight.bound),
    )


def _paused(root: Root, healing: Healing, now: float) -> list[str]:
    pause = healing.pause
    how = pause.ends(node_of(root).config.timezone) or f"by {pause.by}"
    reasons = [f"paused {how}"] if pause.paused else []
    windows = [window.record for window in healing_windows(root, now) if window.record.target == "all"]
    windows = [window for window in windows if window.action not in OF_WINDOWS]
    return reasons + [f"healing window on all: {window.reason or window.action}" for window in windows]


def _sick(root: Root, healing: Healing, components: list[WorkerState], now: float) -> list[str]:
    node = node_of(root)
    reasons = [f"{worker.name} is {worker.late_s:.0f} s late" for worker in components if (worker.late_s or 0) > LATE_S]
    oldest = next(iter(healing.book.due.keys()), None)
    if oldest is not None and now - oldest[0] > OLD_S:
        reasons.append(f"the queue is {now - oldest[0]:.0f} s old")
    engine = engine_of(node)
    if engine is not None and engine.last_work_s > SLOW_S:
        reasons.append(f"the store is slow: {engine.last_work_s:.1f} s for a step")
    if node.store.room.is_short():
        reasons.append("the disk of the store is full")
    apart = peers.clocks_apart(node)
    reasons += [apart] if apart else []
    key = seals.trouble(root)
    if key is not None:
        reasons.append(key)
    damaged = node.projections.damaged()
    reasons += [f"{damage} cannot be read: {damage.said}" for damage in damaged]
    reasons += node.supervisor.stuck()
    troubles = executor_trouble(node), provider_trouble(node), directory_trouble(node), forwarding_trouble(root)
    reasons += [trouble for trouble in troubles if trouble]
    reasons += _braked(healing, world_now(root))
    agents = inventory_of(root).agents
    away = sum(1 for member in agents if not (member.online or member.unheard))
    if agents and 2 * away >= len(agents):
        reasons.append(f"{away} of {len(agents)} agents are away")
    return reasons


def _notes(root: Root) -> list[str]:
    """What is over, and what nobody can know yet: nothing to call people for."""
    node = node_of(root)
    notes = [f"{step.told(node)}; everything goes on" for step in node.clock_steps.recent()]
    restarted = executor_history(node)
    notes += [restarted] if restarted else []
    agents = inventory_of(root).agents
    unheard = sum(1 for member in agents if member.unheard)
    if unheard:
        notes.append(f"{unheard} of {len(agents)} agents: not heard at the moment, with time left to come back")
    return notes


def _braked(healing: Healing, world: World) -> list[str]:
    """Tell which brake is pulled: of the whole fleet, or of each rule, site and target that has used up its heals of
    the hour."""
    limits = world.settings.brake
    fleet = brake.pulled(world.load("", "")._replace(rule=0, site=0, target=0), limits)
    if fleet:
        return [f"brake: {fleet}"]
    reasons = []
    for heal in healing.recent(world.now):
        load = world.load(heal.rule_id, heal.target)
        counts = {f"rule {heal.rule_id}": Load(rule=load.rule), f"target {heal.target}": Load(target=load.target),
                  f"site {heal.site}": Load(site=load.site)}  # fmt: skip
        pulled = {name: brake.pulled(count, limits) for name, count in counts.items()}
        reasons += [f"brake of {name}: {why}" for name, why in pulled.items() if why]
    return list(dict.fromkeys(reasons))


MOST = 500  # rules in one scrape
ACTED = ("verified", "failed", "rolled_back", "inconclusive")  # told as 0 too: from nothing to 1 is no increase
SICK = "unhealthy"  # beside the scopes: so many targets are sick that nothing may be healed


def figures(root: Root) -> Iterable[Any]:
    healing = healing_of(root)
    rules = sorted(healing.rules.keys())
    yield gauge("opsapp_healing_rules_left_out", "Rules without figures here.", max(0, len(rules) - MOST))
    shown = frozenset(rules[:MOST])
    yield from _of_rules(healing, shown)
    yield gauge("opsapp_healing_paused", "Whether the kill switch is on.", healing.paused)
    yield from _of_brake(root, healing)


def _of_rules(healing: Healing, shown: frozenset[str]) -> Iterator[Any]:
    cases = gauge("opsapp_healing_cases", "Open cases.", labels=["rule", "state"])
    open_ones = Counter((case.record.rule_id, case.record.state) for case in healing.book.all_open())
    for (rule_id, state), count in sorted(open_ones.items()):
        if rule_id in shown:
            cases.add_metric([rule_id, state], count)
    yield cases
    heals = counter("opsapp_heals", "Entries of the ledger that are final.", labels=["rule", "outcome"])
    counts = {(rule_id, outcome): 0 for rule_id in shown for outcome in ACTED} | dict(healing.ledger.outcomes or {})
    for (rule_id, outcome), count in sorted(counts.items()):
        if rule_id in shown:
            heals.add_metric([rule_id, outcome], count)
    yield heals
    told = "Whether the rule's heals help, as its trials have shown: 1 for the verdict that holds."
    verdicts = gauge("opsapp_healing_verdict", told, labels=["rule", "verdict"])
    for rule_id, state in healing.trust.items():
        if rule_id in shown:
            verdicts.add_metric([rule_id, state.trust.trials.verdict], 1)
    yield verdicts


def _of_brake(root: Root, healing: Healing) -> Iterator[Any]:
    world = world_now(root)
    limits, done = world.settings.brake, _busiest(healing, world)
    told = "Whether the brake is on: for the fleet, for a site, a rule or a target, or as too many are unhealthy."
    on = gauge("opsapp_healing_brake", told, labels=["scope"])
    told = "Cases in which a heal has begun within an hour: of the site, the rule, the target that has most."
    heals = gauge("opsapp_healing_brake_heals", told, labels=["scope"])
    limit = gauge("opsapp_healing_brake_limit", "With so many the brake is on.", labels=["scope"])
    for scope in brake.SCOPES:
        most = brake.limit_of(scope, limits)
        on.add_metric([scope], done[scope] >= most)
        heals.add_metric([scope], done[scope])
        limit.add_metric([scope], most)
    load = world.load("", "")
    yield gauge("opsapp_healing_targets", "Hosts and monitors.", load.targets)
    if node_of(root).leases.holds(LEASE):
        on.add_metric([SICK], brake.too_sick(load, limits) is not None)
        yield gauge("opsapp_healing_targets_unhealthy", "Of these, the unhealthy ones.", load.sick)
    yield from (on, heals, limit)


def _busiest(healing: Healing, world: World) -> dict[str, int]:
    """Return for each scope the most heals that one of its members had within an hour."""
    loads = [world.load(heal.rule_id, heal.target) for heal in healing.recent(world.now)]
    return {scope: max((getattr(load, scope) for load in loads), default=0) for scope in brake.SCOPES}
