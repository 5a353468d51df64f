"""The rule that carries out a single action, with a question before it. So a proposed action has what every heal has:
condition, brake, windows and budgets, a measured outcome, the ledger. Must not: outlive its action."""

from __future__ import annotations

from opsapp.assistants.inputs import ProposeAction
from opsapp.healing.records import LONGEST_S, NewRule
from opsapp.wire.kinds import AnyValues
from opsapp.wire.records import made

PREFIX = "once-"


def once(request_id: str) -> str:
    """The id of the rule for a request."""
    return f"{PREFIX}{request_id}"


def rule_of_action(given: ProposeAction, params: AnyValues, agent_id: str, monitor_id: str | None) -> NewRule:
    """It learns nothing, so no coin is thrown; it does not fire a second time."""
    on_monitor = monitor_id is not None
    settings = {
        "condition": given.condition,
        "action": {"type": given.action, "target": agent_id if on_monitor else None, "params": params},
        "targets": {"agents": [] if on_monitor else [agent_id], "monitors": [monitor_id] if on_monitor else []},
        "cooldown_s": LONGEST_S,
        "holdout": {"share": 0},
        "trust_ceiling": "approve",
        "initial_level": "notify",
    }
    return made(NewRule, settings)
