"""How long a case waits for what."""

from __future__ import annotations

from opsapp.wire import heals
from opsapp.wire.actions import Action
from opsapp.wire.verdicts import VERIFY_TIMEOUT_S

from .world import World

POLL_S = 0.5  # how often an unanswered command is looked at, beside the wake-up by its result


def settle_of(rule_id: str, action: Action, world: World) -> float:
    rule = world.rules.get(rule_id)
    return heals.settle_of(action, None if rule is None else rule.settle_s)


def patience_of(rule_id: str, world: World) -> float:
    """How long after the settle time a heal may take to show its effect, and a measurement to arrive."""
    rule = world.rules.get(rule_id)
    return float((rule and rule.verify_timeout_s) or VERIFY_TIMEOUT_S)


def trial_window(rule_id: str, action: Action, world: World) -> float:
    """How long either arm of a trial has to recover, from its coin on: as long as the action needs by its rule, or as
    the rule's heals have taken lately, where that is longer."""
    return max(settle_of(rule_id, action, world) + patience_of(rule_id, world), world.heal_takes(rule_id))
