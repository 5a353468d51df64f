"""How long a heal settles, is waited for, and is watched as a trial."""

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
    """How long to wait for a heal to show its effect, and for a measurement to arrive."""
    rule = world.rules.get(rule_id)
    return float((rule and rule.verify_timeout_s) or VERIFY_TIMEOUT_S)


def trial_window(rule_id: str, action: Action, world: World) -> float:
    """The trial's length from the coin on: as long as the action needs, or the rule's heals lately took."""
    return max(settle_of(rule_id, action, world) + patience_of(rule_id, world), world.heal_takes(rule_id))
