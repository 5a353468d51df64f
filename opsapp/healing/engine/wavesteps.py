"""What follows for the deeds of which a transaction has learned something: people are asked, or the next wave goes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from opsapp.healing.stages import moves
from opsapp.healing.stages import waves as stage
from opsapp.healing.stages.case import PlanningCase
from opsapp.healing.stages.moves import AskApproval
from opsapp.healing.stages.waves import Deed

from . import steps, waves
from .context import PipelineContext


def settle(context: PipelineContext) -> None:
    """At the end of a transaction, when all of an outage that were due have said what they want."""
    while context.deeds:
        deed_id = context.deeds.pop()
        deed = context.healing.waves.find(deed_id)
        if deed is not None and not deed.ended and not deed.stopped:
            _ask(context, deed)
            _open(context, deed_id)


def _ask(context: PipelineContext, deed: Deed) -> None:
    """About all that want it and that nobody was asked about: what comes later falls under a further request."""
    members = (member for member in deed.members.values() if member.waits and not member.ready)
    cases = (context.book.find(member.case_id) for member in members)
    wanting = [case for case in cases if case is not None and isinstance(case.record, PlanningCase)]
    if not wanting:
        return
    if waves.gathers(context, deed):
        context.book.schedule(wanting[0], context.now + stage.GATHER_LOOK_S)
        return
    context.asking.add(deed.id)
    alike = defaultdict(list)
    for case in wanting:
        then = steps.following_now(context, case)
        if isinstance(then, AskApproval) and then.plan.choice is not None:
            moves.check(case.record.place, then)
            alike[then.plan.choice.action.name, then.plan.choice.step.position].append((case, then))
        else:
            steps.carry_on(context, case, then)
    for asked in alike.values():
        steps.ask_together(context, asked)
    context.asking.discard(deed.id)


def _open(context: PipelineContext, deed_id: str) -> None:
    """The next wave, if its turn has come. A single target need not wait for another transaction."""
    deed, sizes = context.healing.waves.find(deed_id), None
    if deed is not None:
        sizes = waves.sizes_of(context, deed.rule_id)
    if deed is None or sizes is None:
        return
    opened = stage.next_wave(deed, sizes)
    goes = [member for member in opened.members.values() if member.acts and deed.members[member.case_id].waits]
    if not goes:
        return
    context.healing.waves.keep(opened)
    for member in goes:
        case = context.book.find(member.case_id)
        if case is not None:
            context.book.keep(case, replace(case.record, wave=member.wave), context.now)
            if not opened.is_shared:
                steps.advance(context, case)
