"""What /metrics says of healing: from the store, so every node of a cluster says the same, after a restart too.

Rules that are no more have no figures, and of very many only the first by their ids have: see `MOST`. How many targets
are sick only the node knows that compares rules with what is measured; the others leave it out. Must not: read entries
of the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from opsapp.healing.logic import brake
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.signedtrust import TRUST
from opsapp.healing.stages.world import World
from opsapp.runtime.node import node_of
from opsapp.runtime.projection import readable
from opsapp.tree.root import Root

from .pipeline import LEASE, world_now

MOST = 500  # rules in one scrape
ACTED = ("verified", "failed", "rolled_back", "inconclusive")  # told as 0 too: from nothing to 1 is no increase
SICK = "unhealthy"  # beside the scopes: so many targets are sick that nothing may be healed


def figures(root: Root) -> Iterable[Any]:
    healing = healing_of(root)
    rules = sorted(healing["rules"].keys())
    yield GaugeMetricFamily("opsapp_healing_rules_left_out", "Rules without figures here.", max(0, len(rules) - MOST))
    shown = frozenset(rules[:MOST])
    yield from _of_rules(healing, shown)
    yield GaugeMetricFamily("opsapp_healing_paused", "Whether the kill switch is on.", healing.paused)
    yield from _of_brake(root, healing)


def _of_rules(healing: Healing, shown: frozenset[str]) -> Iterator[Any]:
    cases = GaugeMetricFamily("opsapp_healing_cases", "Open cases.", labels=["rule", "state"])
    open_ones = Counter((case.record.rule_id, case.record.state) for case in healing.book.all_open())
    for (rule_id, state), count in sorted(open_ones.items()):
        if rule_id in shown:
            cases.add_metric([rule_id, state], count)
    yield cases
    heals = CounterMetricFamily("opsapp_heals", "Entries of the ledger that are final.", labels=["rule", "outcome"])
    counts = {(rule_id, outcome): 0 for rule_id in shown for outcome in ACTED} | dict(healing["ledger"].outcomes or {})
    for (rule_id, outcome), count in sorted(counts.items()):
        if rule_id in shown:
            heals.add_metric([rule_id, outcome], count)
    yield heals
    told = "Whether the rule's heals help, as its trials have shown: 1 for the verdict that holds."
    verdicts = GaugeMetricFamily("opsapp_healing_verdict", told, labels=["rule", "verdict"])
    for rule_id, state in readable(healing["trust"], TRUST):
        if rule_id in shown:
            verdicts.add_metric([rule_id, state.trust.trials.verdict], 1)
    yield verdicts


def _of_brake(root: Root, healing: Healing) -> Iterator[Any]:
    world = world_now(root)
    limits, done = world.settings.brake, _busiest(healing, world)
    told = "Whether the brake is on: for the fleet, for a site, a rule or a target, or as too many are unhealthy."
    on = GaugeMetricFamily("opsapp_healing_brake", told, labels=["scope"])
    told = "Cases in which a heal has begun within an hour: of the site, the rule, the target that has most."
    heals = GaugeMetricFamily("opsapp_healing_brake_heals", told, labels=["scope"])
    limit = GaugeMetricFamily("opsapp_healing_brake_limit", "With so many the brake is on.", labels=["scope"])
    for scope in brake.SCOPES:
        most = brake.limit_of(scope, limits)
        on.add_metric([scope], done[scope] >= most)
        heals.add_metric([scope], done[scope])
        limit.add_metric([scope], most)
    load = world.load("", "")
    yield GaugeMetricFamily("opsapp_healing_targets", "Hosts and monitors.", load.targets)
    if node_of(root).leases.holds(LEASE):
        on.add_metric([SICK], brake.too_sick(load, limits) is not None)
        yield GaugeMetricFamily("opsapp_healing_targets_unhealthy", "Of these, the unhealthy ones.", load.sick)
    yield from (on, heals, limit)


def _busiest(healing: Healing, world: World) -> dict[str, int]:
    """Of each scope the one with most heals within an hour."""
    loads = [world.load(heal.rule_id, heal.target) for heal in healing.recent(world.now)]
    return {scope: max((getattr(load, scope) for load in loads), default=0) for scope in brake.SCOPES}
