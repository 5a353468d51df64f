"""What follows for the deeds of which a transaction has learned something: people are asked, or the next wave goes."""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.resources.waves import StoredDeed
from opsapp.healing.stages import waves as stage

from . import requestdrafts, steps, waves, wavetrials
from .context import PipelineContext


def settle(context: PipelineContext) -> None:
    """At the end of a transaction, when all of an outage that were due have said what they want."""
    context.deeds.update(context.healing.waves.to_ask())
    while context.deeds:
        stored = context.healing.waves.find(context.deeds.pop())
        if stored is None:
            continue
        if stored.deed.ended:
            context.healing.waves.end_asking(stored.deed.id)
        elif not stored.deed.stopped:
            requestdrafts.ask(context, stored)
            _open(context, stored)


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
