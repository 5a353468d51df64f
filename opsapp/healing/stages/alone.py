"""Chooses the rules by which a host may heal while no server answers: those that would act there without a person,
limited to the host's tools. Pure. Must not: send them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic import brake, effectiveness, rules, windows
from opsapp.healing.logic.levels import RISKS, behaviour
from opsapp.healing.records import RuleRecord
from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import parse
from opsapp.wire.policies import Policy, PolicyStep

from .planning import protected_part
from .stakes import of_target
from .timing import patience_of
from .trust import effective
from .world import Host, World

ELSEWHERE = ("monitor", "plugin", "response_time_ms", "cert_days")  # readings that no agent has
MOST_STEPS, MOST_POLICIES = 10, 500


def policies(host: Host, names: tuple[str, ...], tags: tuple[str, ...], world: World) -> list[Policy]:
    """None while healing is paused, held back by a window, or braked; none of a rule that would ask people first."""
    window = windows.permitted(world.windows, names)
    if world.paused or host.ambiguous or window.effect or not set(names).isdisjoint(world.settings.protected.targets):
        return []
    if brake.pulled(world.load("", host.hostname)._replace(rule=0, target=0), world.settings.brake):
        return []
    overdue = {rule_id for rule_id, target in world.overdue if rules.names_of(target)[-1] in names}
    policies_of_host = []
    for rule_id, rule in sorted(world.rules.items()):
        trust = world.trust.get(rule_id)
        if trust is None or not rule.enabled or rule_id in overdue or not _is_about(rule, names, tags):
            continue
        stakes, caps = of_target(rule, names, f"agent:{host.agent_id}", world), [(window.cap, "window")]
        levels = {risk: effective(trust, source="agent", caps=caps, stakes=stakes, risk=risk).level for risk in RISKS}
        steps = _steps(rule, levels, host, world)
        if steps:
            policies_of_host.append(_policy(rule_id, rule, steps, world))
    return policies_of_host[:MOST_POLICIES]


def _is_about(rule: RuleRecord, names: tuple[str, ...], tags: tuple[str, ...]) -> bool:
    """Whether it reads this host's own readings, and acts on this host."""
    if rule.targets and not rules.in_scope(names, tags, rule.targets.agents):
        return False
    if rule.acts_on and rule.acts_on not in names:
        return False
    return not any(name.partition(".")[0] in ELSEWHERE for name in parse(rule.condition).names)


def _steps(rule: RuleRecord, levels: Mapping[str, str], host: Host, world: World) -> tuple[PolicyStep, ...]:
    steps = []
    for step in rule.steps:
        action = ACTIONS[step.action]
        capable = host.usable is None or host.handler(action) is not None
        own, fleet = world.history(step.action, rule.condition, host.hostname)
        doubt = effectiveness.against(own, fleet, world.now, world.settings.skip)
        does = behaviour(levels[action.risk], action.risk)
        if action.where != "host" or action.shell or does != "execute" or not capable:
            continue
        if not doubt and not protected_part(step.params, world):
            steps.append(PolicyStep(step.action, dict(step.params)))
    return tuple(steps[:MOST_STEPS])


def _policy(rule_id: str, rule: RuleRecord, steps: tuple[PolicyStep, ...], world: World) -> Policy:
    return Policy(
        rule_id,
        rule.condition,
        steps,
        for_s=rule.hold_s,
        cooldown_s=min(float(rule.cooldown_s), 7 * 86400.0),
        settle_s=None if rule.settle_s is None else float(rule.settle_s),
        verify_timeout_s=patience_of(rule_id, world),
    )


def drawn_shares(settings: HealingSettings, hosts: Iterable[str], lot: Callable[[str], float | None]) -> dict[str, int]:
    """Each host's part of the fleet's heals of an hour, which together are no more than that. What division leaves goes
    to the lowest lots; no host gets more than one rule may."""
    rates, names = settings.brake.max_heals_per_hour, list(hosts)
    same, over = divmod(rates.fleet, max(1, len(names)))
    lots = sorted((drawn, name) for name in names if (drawn := lot(name)) is not None) if over else []
    more = {name for _, name in lots[:over]}
    return {name: min(rates.rule, same + (name in more)) for name in names}
