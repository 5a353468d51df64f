"""A case takes a step: what its state asks for. Stages 1 and 2 are here; `approvals` and `steps` have the others.

A step reads the case and the world, lets a stage decide, writes what it decided, and queues commands as records in the
same transaction. Nothing here waits or talks to anybody.
"""

from __future__ import annotations

from opsapp.healing.logic.rules import steps as steps_of
from opsapp.healing.resources.cases import NEVER, Case
from opsapp.healing.stages import correlation, planning
from opsapp.healing.stages.planning import Plan

from . import approvals, arrivals, entries, guards, line, notifications, steps
from .context import PipelineContext

WAIT_S = 0.5


def advance(context: PipelineContext, case: Case) -> None:
    """One step; and as long as a step of the chain ends before it begins, the plan of the next one."""
    state = case.fields["state"]
    if state == "closed":
        arrivals.end_late(context, case)
        return
    if state == "correlating":
        _correlate(context, case)
    elif state == "awaiting_approval":
        approvals.look(context, case)
    elif state != "planning":
        steps.advance(context, case)
    goes_on = case.fields["state"] == "planning"
    while goes_on:
        goes_on = _plan(context, case)


def _correlate(context: PipelineContext, case: Case) -> None:
    correlated = correlation.correlate(case.plain(), context.world)
    case.set(**case.fields["abouts"].get(correlated.rule_id, {}), rule_id=correlated.rule_id)
    context.book.hold_back(case, correlated.kind == "wait")
    said = f"correlated: {correlated.kind}" + (f", {correlated.reason}" if correlated.reason else "")
    if case.fields["why"][-1:] != (said,):
        case.why(said)
    if correlated.kind in ("wait", "hold"):
        if correlated.kind == "wait":
            case.set(waits_from=case.fields.get("waits_from") or context.now)
        context.measure_above(correlated.ask)
        context.book.schedule(case, correlated.due)
    elif correlated.kind == "end":
        guards.held(context, case)
        entries.end_now(context, case, correlated.outcome or "", correlated.reason)
    else:
        case.set(state="planning")


def _plan(context: PipelineContext, case: Case) -> bool:
    """Plan the present step; whether the next one is to be planned at once."""
    lost = guards.lost(context, case)
    if lost is not None:
        entries.end_now(context, case, lost.outcome, lost.reason)
        return False
    plan = planning.plan(case.plain(), context.world)
    if _waits_for_host(context, case, plan) or _waits_for_turn(context, case, plan):
        return False
    case.set(level=plan.effective.level)
    case.why(*plan.why)
    if plan.outcome is None:
        _carry_out(context, case, plan)
        return case.fields["state"] == "planning"  # the step could not even begin
    if plan.outcome == "failed" and _escalates(context, case, plan):
        return True
    if plan.outcome == "notified":
        notifications.notified(context, case.fields, plan.reason)
    notifications.braked(context, plan)
    entries.end_now(context, case, plan.outcome, plan.reason, plan)
    return False


def _waits_for_host(context: PipelineContext, case: Case, plan: Plan) -> bool:
    """A host that is silent gets as long as a command would: after a restart of ours nobody has been heard yet."""
    since = case.fields["waits_since"] or context.now
    patient = context.now - since < context.world.settings.command_expiry_s
    if not plan.reason.startswith(planning.OFFLINE) or not patient:
        case.set(waits_since=None)
        return False
    if case.fields["waits_since"] is None:
        case.why(f"{plan.reason}: waiting for it")
    case.set(waits_since=since, waits_from=case.fields.get("waits_from") or since)
    context.book.schedule(case, context.now + WAIT_S)
    return True


def _waits_for_turn(context: PipelineContext, case: Case, plan: Plan) -> bool:
    """Whether others act, or the condition of a case that has waited is not known yet. One that is over ends."""
    if plan.would != "execute" or plan.outcome is not None:
        return False
    turn = line.look(context, case, plan)
    if turn.kind == "end":
        entries.end_now(context, case, "withdrawn", turn.reason)
    return turn.kind != "go"


def _escalates(context: PipelineContext, case: Case, plan: Plan) -> bool:
    """A step that could not even begin is recorded, and the next one planned; False at the chain's end."""
    following = plan.choice.step.position + 1 if plan.choice else NEVER
    if following >= len(steps_of(context.world.rules[case.fields["rule_id"]])):
        return False
    entry = entries.begin_entry(context, case, plan)
    context.ledger.finish(context.root, entry, outcome="failed", reason=plan.reason, now=context.now)
    case.set(step=int(following), entry_id=None)
    return True


def _carry_out(context: PipelineContext, case: Case, plan: Plan) -> None:
    if plan.tell:
        notifications.acts(context, case.fields, plan)
    if plan.would == "request_approval":
        approvals.ask(context, case, plan)
    else:
        steps.begin(context, case, plan, entries.begin_entry(context, case, plan, state="executing"))
