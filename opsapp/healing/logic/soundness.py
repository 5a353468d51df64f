"""What no single field of a rule shows: whether it does anything, and whether its actions take these parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.wire.actions import ACTIONS, Action


def wrong_params(name: str, params: Mapping[str, Any]) -> dict[str, str]:
    """Parameters that the action lacks, or of the wrong kind, by path."""
    said = {f"params.{param}": _wrong_param(ACTIONS[name], param, value) for param, value in params.items()}
    return {path: text for path, text in said.items() if text}


def _wrong_param(action: Action, param: str, value: Any) -> str | None:
    if param not in action.params:
        return f"{action.name} has no such parameter"
    try:
        action.params[param].check(value)
    except ValueError as problem:
        return str(problem)
    return None


def does_nothing(rule: Mapping[str, Any]) -> dict[str, str]:
    """Neither an action nor a step. A field that is not there was wrong in itself, and something was meant by it."""
    idle = all(name in rule and not rule[name] for name in ("action", "escalation_chain"))
    return {"action": "is required where there is no escalation_chain"} if idle else {}
