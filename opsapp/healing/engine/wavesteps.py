"""What follows for the deeds of which a transaction has learned something: people are asked, or the next wave goes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from opsapp.healing.resources.waves import StoredDeed
from opsapp.healing.stages import moves
from opsapp.healing.stages import waves as stage
from opsapp.healing.stages.case import PlanningCase
from opsapp.healing.stages.moves import AskApproval
from opsapp.healing.stages.waves import DeedChange

from . import steps, waves, wavetrials
from .context import PipelineContext


def settle(context: PipelineContext) -> None:
    """At the end of a transaction, when all of an outage that were due have said what they want."""
    while context.deeds:
        stored = context.healing.waves.find(context.deeds.pop())
        if stored is not None and not stored.deed.ended and not stored.deed.stopped:
            _ask(context, stored)
            _open(context, stored)


def _ask(context: PipelineContext, stored: StoredDeed) -> None:
    """About all that want it and that nobody was asked about: what comes later falls under a further request."""
    cases = (context.book.find(case_id) for case_id in stored.wanting)
    wanting = [case for case in cases if case is not None and isinstance(case.record, PlanningCase)]
    if not wanting:
        return
    if waves.gathers(context, stored):
        context.book.schedule(wanting[0], context.now + stage.GATHER_LOOK_S)
        return
    context.asking.add(stored.deed.id)
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
        members = (stored.members[case.record.id]._replace(asked=True) for case, _ in asked)
        stored.keep(DeedChange(stored.deed, tuple(members)))
    context.asking.discard(stored.deed.id)


def _open(context: PipelineContext, stored: StoredDeed) -> None:
    """The next wave, if its turn has come. A single target need not wait for another transaction."""
    sizes = waves.sizes_of(context, stored.deed.rule_id)
    if sizes is None or waves.is_being_told(context, stored):
        return
    opened = stage.next_wave(stored.deed, stored.in_line(), sizes)
    if not opened.members:
        return
    stored.keep(opened)
    wavetrials.begin(context, stored, opened.members)
    compared = bool(stored.deed.trial)
    for member in opened.members:
        case = context.book.find(member.case_id)
        if case is not None:
            context.book.keep(case, replace(case.record, wave=member.wave, compared=compared), context.now)
            if not opened.deed.is_shared:
                steps.advance(context, case)
