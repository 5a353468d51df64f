"""Whose turn it is on a host, read from the store: cases stand in line, and are looked at again before they act.

Must not: decide; `stages.turns` does.
"""

from __future__ import annotations

from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import turns
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.turns import Again
from opsapp.healing.stages.world import SERVER

from . import measuring
from .context import PipelineContext

TURN_S = 0.5  # how often a case in line looks whether it is its turn


def stands_in_line(context: PipelineContext, case: Case, host: str) -> bool:
    """Whether something is being done about the same target, or on the same host, for another case: then this one is
    looked at again in a moment. What the service does by itself (webhooks, runs) stands in no line."""
    holder = None if host == SERVER else context.book.holder(host)
    if not (context.book.others_act(case) or turns.is_taken(case.fields["id"], holder, host)):
        return False
    _wait(context, case, Again("wait", "another case acts there: one after the other", context.now), since=context.now)
    return True


def look(context: PipelineContext, case: Case, plan: Plan) -> Again:
    """What follows for a case that is about to act: it goes, or it waits and is scheduled, or it ends."""
    assert plan.choice is not None
    assert plan.host is not None
    host = plan.host.agent_id
    if stands_in_line(context, case, host):
        return Again("wait")
    settle = measuring.settle_for(context, case, plan.choice.action)
    holder = None if host == SERVER else context.book.holder(host)
    settled = turns.settles_until(case.fields["id"], holder, plan.choice.action.name, plan.choice.params, settle)
    reading, patience = context.world.reading(case.fields), measuring.patience_of(context, case)
    found = turns.look_again(case.fields, reading, now=context.now, settled_at=settled, patience=patience)
    if found.kind == "ask":
        measuring.ask_for_look(context, case)
        found = Again("wait", "looked at again before it acts", context.now)
    if found.kind == "wait":
        _wait(context, case, found, since=case.fields["opened_at"])
    return found


def take(context: PipelineContext, case: Case, host: str) -> None:
    """It is this case's turn now. What it knew when it waited is used up."""
    context.book.line[host] = case.fields["id"]
    case.set(waits_from=None, looks_from=None)


def _wait(context: PipelineContext, case: Case, found: Again, *, since: float) -> None:
    if case.fields["why"][-1:] != (found.reason,):
        case.why(found.reason)
    case.set(waits_from=case.fields.get("waits_from") or since)
    context.book.schedule(case, max(found.due, context.now + TURN_S))
