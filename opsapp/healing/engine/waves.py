"""Deeds in the store: whose turn it is, who joins, and what the end of a case says of the rest of its outage."""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.logic.waves import WaveSizes, sizes_for
from opsapp.healing.resources.cases import Case
from opsapp.healing.stages import waves as stage
from opsapp.healing.stages.case import CaseRecord, CorrelatingCase
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.waves import Deed, WaveTurn

from . import notifications
from .context import PipelineContext


def sizes_of(context: PipelineContext, rule_id: str) -> WaveSizes | None:
    return sizes_for(context.world.rules.get(rule_id), context.world.settings.waves)


def turn_of(context: PipelineContext, record: CaseRecord) -> WaveTurn:
    """What stands between a case and its act for the sake of its outage."""
    if sizes_of(context, record.rule_id) is None:
        return WaveTurn()
    deed = _deed_of(context, record)
    if deed is None:
        return WaveTurn(waits=True)
    return WaveTurn(True, deed.id in context.asking, deed.stopped)


def _deed_of(context: PipelineContext, record: CaseRecord) -> Deed | None:
    book = context.healing.waves
    return book.find(record.deed) or book.open_to(record)


def join(context: PipelineContext, case: Case, record: CaseRecord, due: float, *, ready: bool) -> None:
    """The case waits for its turn; what follows for its deed is looked at before this transaction ends."""
    known = _deed_of(context, record) or context.healing.waves.begin(record)
    deed = stage.joined(known, record, context.world.coin(record.id), ready=ready)
    if deed is not known:  # thousands wait, and each looks once a minute: what says nothing new is not written
        context.healing.waves.keep(deed)
    context.book.keep(case, replace(record, deed=deed.id), due)
    context.deeds.append(deed.id)


def gathers(context: PipelineContext, deed: Deed) -> bool:
    """Whether others of the outage are on their way: people are asked once, about all of them."""
    if context.now - deed.began_at > stage.GATHER_S:
        return False
    targets = {member.target for member in deed.members.values()}
    holding = (target for target, rules in context.world.holding.items() if deed.rule_id in rules)
    return any(target not in targets and _comes(context, deed, target) for target in holding)


def _comes(context: PipelineContext, deed: Deed, target: str) -> bool:
    cases = (case.record for case in context.book.open_cases(target))
    return any(
        isinstance(record, CorrelatingCase) and deed.rule_id in record.events and not record.queued for record in cases
    )


def begins(context: PipelineContext, record: CaseRecord) -> None:
    """Something is about to be done for its deed."""
    deed = context.healing.waves.find(record.deed)
    if deed is not None and not deed.begun:
        context.healing.waves.keep(deed._replace(begun=True))


def ended(context: PipelineContext, record: CaseRecord, outcome: str, reason: str, entry: LedgerRecord) -> None:
    """A case of a deed has come to its end, or has made something worse: in the same transaction the deed stops, if it
    does, and those that wait are due."""
    deed = context.healing.waves.find(record.deed)
    if deed is None:
        return
    before, worse = deed, bool(entry.worse)
    verdict = stage.verdict_of(record, outcome, worse=worse)
    deed = stage.judged(deed, record.id, verdict, f"{outcome}, {reason}" if reason else outcome)
    if deed == before:
        return
    if deed.stopped and not before.stopped:
        deed = _stop(context, deed)
    if stage.is_over(deed):
        deed = deed._replace(ended=True)
        if deed.is_shared and not deed.told and (deed.wave or outcome == "expired"):
            notifications.deed_over(context, deed, outcome)
    context.healing.waves.keep(deed)
    if not deed.stopped:
        _wake_next(context, deed)


def _wake_next(context: PipelineContext, deed: Deed) -> None:
    """One of those that wait looks at once whether its wave has come."""
    for member in deed.waiting():
        case = context.book.find(member.case_id)
        if member.ready and case is not None:
            context.book.schedule(case, context.now)
            return


def _stop(context: PipelineContext, deed: Deed) -> Deed:
    """Whoever has not begun goes no further; people hear of it once."""
    left = [member for member in deed.members.values() if not member.verdict]
    for member in left:
        case = context.book.find(member.case_id)
        if case is not None and case.record.state in ("planning", "awaiting_approval"):
            context.book.schedule(case, context.now)
    if left:
        notifications.deed_stopped(context, deed, [member.target for member in left])
    return deed._replace(told=bool(left))


def is_told_with_its_deed(context: PipelineContext, record: CaseRecord, outcome: str) -> bool:
    """Whether people hear of this end once for all of the outage: nobody has decided in time."""
    deed = context.healing.waves.find(record.deed)
    return deed is not None and deed.is_shared and outcome == "expired"
