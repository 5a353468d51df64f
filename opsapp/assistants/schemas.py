"""What the tools that ask take. Declared as bodies of the API: checked alike, and told to clients as JSON Schema."""

from __future__ import annotations

from opsapp.healing.records import NewRule, RuleAction, condition_problem
from opsapp.lib.jsontypes import JsonObject
from opsapp.web.declared import body_of
from opsapp.web.fields import Body, anything, choice, field, map_of, number, text
from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import MAX_LENGTH

# A shell's text and what runs automations are proposed as a run or a rule, which say what they are.
PROPOSABLE = tuple(sorted(name for name, row in ACTIONS.items() if row.where == "host" and not row.shell))
REASON = text(1, 1000)


class McpMessage(Body):
    """One message of JSON-RPC; `logic.jsonrpc` reads it."""

    sample = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    jsonrpc = choice("2.0")
    id = anything(optional=True)
    method = text(optional=True)
    params = map_of(anything(), optional=True)


class DraftOverPast(Body):
    rule = field(body_of(NewRule))
    days = number(0.01, 30, default=7)
    since = number(0, 10**10, name="from", default=None)
    until = number(0, 10**10, name="to", default=None)


def wrong_action(sound: JsonObject) -> dict[str, str]:
    """Parameters that are wrong or missing. None is filled in later: people allow what stands here."""
    name, params = sound.get("action"), sound.get("params")
    if name is None or params is None:
        return {}
    action = ACTIONS[name]
    due = [param for param, entry in action.params.items() if entry.required and params.get(param) is None]
    missing = {param: "is required" for param in due} | action.undecided(params)
    wrong = RuleAction.across({"type": name, "params": params})
    return {f"params.{param}": message for param, message in missing.items()} | wrong


class ProposeAction(Body):
    across = staticmethod(wrong_action)
    host = text(1, 255)
    action = choice(*PROPOSABLE)
    params = map_of(anything(), 50)
    condition = text(1, MAX_LENGTH, check=condition_problem)
    monitor = text(1, 255, default=None)
    reason = REASON


class ProposeRun(Body):
    automation_id = text(1, 64)
    inputs = map_of(anything(), 50)
    reason = REASON


class ProposeRule(Body):
    rule = field(body_of(NewRule))
    reason = REASON


TAKES = {
    "what_if": DraftOverPast,
    "propose_action": ProposeAction,
    "propose_run": ProposeRun,
    "propose_rule": ProposeRule,
}
