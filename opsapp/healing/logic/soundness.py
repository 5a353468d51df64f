"""Checks what no single field of a rule shows: whether its actions can be done."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.placeholders import places
from opsapp.wire.actions import ACTIONS


def wrong_params(name: str, params: JsonObject) -> dict[str, str]:
    """The mistakes in an action's parameters by path. A missing one may come from the event's target."""
    action, sound, wrong = ACTIONS[name], {}, {}
    for param, value in params.items():
        if param not in action.params:
            wrong[param] = f"{name} has no such parameter"
            continue
        if value is None:  # the same as left out
            continue
        if places(value):
            kind, place = min(places(value))
            wrong[param] = f"{{{{{kind}:{place}}}}} has no value in a rule: placeholders are for automations"
            continue
        try:
            sound[param] = action.params[param].check(value)
        except ValueError as problem:
            wrong[param] = str(problem)
    wrong |= action.contradictions(sound)
    return {f"params.{param}": message for param, message in wrong.items()}


def incomplete(rule: JsonObject) -> dict[str, str]:
    """A field that is absent was wrong in itself, and something was meant by it."""
    chain, action = rule.get("escalation_chain"), rule.get("action")
    if chain:  # then the action only names the target
        steps = [(f"escalation_chain.{at}", step["action"], step.get("params")) for at, step in enumerate(chain)]
    elif action:
        steps = [("action", action["type"], action.get("params"))]
    elif "action" in rule and "escalation_chain" in rule:
        return {"action": "is required where there is no escalation_chain"}
    else:
        return {}
    return {
        f"{path}.params.{param}": message
        for path, name, params in steps
        for param, message in unfillable(name, dict(params or {})).items()
    }


def unfillable(name: str, params: JsonObject) -> dict[str, str]:
    """What no event's target can replace."""
    action = ACTIONS[name]
    due = [param for param, field in action.params.items() if field.required and param != action.target_param]
    return {param: "is required" for param in due if params.get(param) is None} | action.undecided(params)
