"""Having what a case is about measured again, and how long that may take."""

from __future__ import annotations

from opsapp.healing.resources.cases import Case
from opsapp.lib.durations import seconds
from opsapp.lib.problems import NotFound
from opsapp.wire.actions import ACTIONS, Action

from .context import PipelineContext

LOOK = "look"  # what a heal id ends with where nothing is healed, only looked at
VERIFY_TIMEOUT_S = 60.0


def patience_of(context: PipelineContext, case: Case) -> float:
    rule = context.world.rules.get(case.fields["rule_id"], {})
    return seconds(rule.get("verify_timeout_s") or VERIFY_TIMEOUT_S)


def settle_of(context: PipelineContext, case: Case) -> float:
    return settle_for(context, case, ACTIONS[case.fields["action"]])


def settle_for(context: PipelineContext, case: Case, action: Action) -> float:
    """The rule's, or the action's own. Not less than the action needs: a host that is about to reboot still looks as it
    did."""
    wanted = context.world.rules.get(case.fields["rule_id"], {}).get("settle_s")
    return action.settle if wanted is None else max(action.least_settle, seconds(wanted))


def ask_for_look(context: PipelineContext, case: Case) -> None:
    """Have the condition of a case that has waited measured again."""
    case.set(looks_from=context.now)
    measure_subject(context, case, f"{case.fields['id']}.{LOOK}", patience_of(context, case))


def measure_subject(context: PipelineContext, case: Case, heal_id: str, patience: float) -> None:
    subject = case.fields["subject"] or ""
    if subject.startswith("monitor:"):
        context.rechecks.append(subject)
    elif subject:
        measure = {"heal_id": heal_id, "token": context.token, "phase": "measure"}
        agent_id, expiry = subject.partition(":")[2], max(patience, 1.0)
        try:
            context.fleet.send(context.root, agent_id, "heal", measure, timeout=60, expiry=expiry, by="healing")
        except NotFound:
            case.why("nothing can be measured: the agent is gone")
