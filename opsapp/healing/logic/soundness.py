"""What no single field of a rule shows: whether it does anything, and whether its actions take these parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.wire.actions import ACTIONS


def wrong_params(name: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Parameters that the action lacks, of the wrong kind, or against each other, by path. One that is missing may come
    from the event's target."""
    action, sound, wrong = ACTIONS[name], {}, {}
    for param, value in params.items():
        if param not in action.params:
            wrong[param] = f"{name} has no such parameter"
            continue
        try:
            sound[param] = action.params[param].check(value)
        except ValueError as problem:
            wrong[param] = str(problem)
    wrong |= action.contradictions(sound)
    return {f"params.{param}": said for param, said in wrong.items()}


def does_nothing(rule: Mapping[str, Any]) -> dict[str, str]:
    """Neither an action nor a step. A field that is not there was wrong in itself, and something was meant by it."""
    idle = all(name in rule and not rule[name] for name in ("action", "escalation_chain"))
    return {"action": "is required where there is no escalation_chain"} if idle else {}
