"""What the tools that ask take: checked as the API's bodies are, told to clients as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from opsapp.healing.records import NewRule, RuleAction, condition_problem
from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import MAX_LENGTH
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Anything, CheckedBy, Choice, DeclaredField, MapOf, Text
from opsapp.wire.records import Between, SaidAs

# A shell's text and what runs automations are proposed as a run or a rule, which say what they are.
PROPOSABLE = tuple(sorted(name for name, row in ACTIONS.items() if row.where == "host" and not row.shell))
Reason = Annotated[str, Text(1, 1000)]
Named = Annotated[str, Text(1, 255)]
Given = Annotated[dict[str, Any], MapOf(DeclaredField("", Anything()), 50)]
PointInTime = Between(0, 10**10)


@frozen
class DraftOverPast:
    rule: NewRule
    days: Annotated[float, Between(0.01, 30)] = 7
    since: Annotated[float, PointInTime, SaidAs("from")] = None  # type: ignore[assignment]
    until: Annotated[float, PointInTime, SaidAs("to")] = None  # type: ignore[assignment]


def wrong_action(sound: Mapping[str, Any]) -> dict[str, str]:
    """Parameters that are wrong or missing. None is filled in later: people allow what stands here."""
    name, params = sound.get("action"), sound.get("params")
    if name is None or params is None:
        return {}
    action = ACTIONS[name]
    due = [param for param, entry in action.params.items() if entry.required and params.get(param) is None]
    missing = {param: "is required" for param in due} | action.undecided(params)
    wrong = RuleAction.across({"type": name, "params": params})
    return {f"params.{param}": message for param, message in missing.items()} | wrong


@frozen(kw_only=True)
class ProposeAction:
    across = staticmethod(wrong_action)

    host: Named
    action: Annotated[str, Choice(*PROPOSABLE)]
    params: Given
    condition: Annotated[str, Text(1, MAX_LENGTH), CheckedBy(condition_problem)]
    monitor: Named = None  # type: ignore[assignment]
    reason: Reason


@frozen
class ProposeRun:
    automation_id: Annotated[str, Text(1, 64)]
    inputs: Given
    reason: Reason


@frozen
class ProposeRule:
    rule: NewRule
    reason: Reason


TAKES: dict[str, Any] = {
    "what_if": DraftOverPast,
    "propose_action": ProposeAction,
    "propose_run": ProposeRun,
    "propose_rule": ProposeRule,
}
