"""What no single field of a rule shows: whether it has an action, and whether its actions accept the parameters."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.placeholders import places
from opsapp.wire.actions import ACTIONS


def wrong_params(name: str, params: JsonObject) -> dict[str, str]:
    """Parameters that the action lacks, of the wrong kind, with placeholders that nothing fills in, or against each
    other, by path. One that is missing may come from the event's target."""
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
    """Neither an action nor a step, or one that lacks what nothing can fill in. A field that is not there was wrong in
    itself, and something was meant by it."""
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
    """Required parameters that are missing and that no event's target can replace."""
    action = ACTIONS[name]
    due = [param for param, field in action.params.items() if field.required and param != action.target_param]
    return {param: "is required" for param in due if params.get(param) is None} | action.undecided(params)
