"""Stores deeds: whose turn it is, who joins, and what the end of a case means for the rest of its outage."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from opsapp.healing.logic.waves import WaveSizes, sizes_for
from opsapp.healing.resources.cases import TOLD_AT_ONCE, Case
from opsapp.healing.resources.waves import StoredDeed
from opsapp.healing.stages import waves as stage
from opsapp.healing.stages.case import AwaitingCase, CaseRecord, CorrelatingCase, PlanningCase
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.messages import DeedStopped
from opsapp.healing.stages.waves import Deed, DeedMember, WaveTurn

from . import notifications
from .context import PipelineContext

NOT_BEGUN = (PlanningCase, AwaitingCase)


def sizes_of(context: PipelineContext, rule_id: str) -> WaveSizes | None:
    rule = context.world.rules.get(rule_id)
    return sizes_for(None if rule is None else rule.waves, context.settings.waves)


def turn_of(context: PipelineContext, record: CaseRecord) -> WaveTurn:
    if sizes_of(context, record.rule_id) is None:
        return WaveTurn()
    stored = _deed_of(context, record)
    if stored is None:
        return WaveTurn(waits=True)
    return WaveTurn(True, stored.deed.id in context.asking, stored.deed.stopped)


def _deed_of(context: PipelineContext, record: CaseRecord) -> StoredDeed | None:
    book = context.healing.waves
    return book.find(record.deed) or book.open_to(record)


def join(context: PipelineContext, case: Case, record: CaseRecord, due: float, *, ready: bool) -> None:
    """What follows for its deed is looked at before this transaction ends."""
    stored = _deed_of(context, record) or context.healing.waves.begin(record)
    known, draw = stored.members.get(record.id), context.world.coin(record.id)
    change = stage.joined(stored.deed, known, record, 1.0 if draw is None else draw, ready=ready)
    if ready:  # it knows, whether or not it was told
        context.book.waiting_for.pop(f"{record.approval_id}/{record.id}", None)
    if change.members:  # thousands wait, and each looks once a minute: what says nothing new is not written
        stored.keep(change)
    context.book.keep(case, replace(record, deed=stored.deed.id), due)
    context.deeds.add(stored.deed.id)


def is_being_told(context: PipelineContext, stored: StoredDeed) -> bool:
    """Some who were agreed to have not heard of it: who goes first is drawn among all."""
    first = next(iter(stored.in_line()), None)
    record = None if first is None else context.book.record_of(first.case_id)
    asked = None if record is None else record.approval_id
    return asked is not None and context.book.waits_for_part(asked)


def gathers(context: PipelineContext, stored: StoredDeed) -> bool:
    """Others of the outage are on their way: people are asked once, about all of them."""
    deed = stored.deed
    if context.now - deed.began_at > stage.GATHER_S:
        return False
    holding = (target for target, rules in context.world.holding.items() if deed.rule_id in rules)
    return any(target not in stored.targets and _comes(context, deed, target) for target in holding)


def _comes(context: PipelineContext, deed: Deed, target: str) -> bool:
    cases = (case.record for case in context.book.open_cases(target))
    return any(deed.rule_id in record.events and _is_on_its_way(record) for record in cases)


def _is_on_its_way(record: CaseRecord) -> bool:
    """It is held, or its host has not answered yet what the cause is."""
    if isinstance(record, CorrelatingCase):
        return not record.queued
    return isinstance(record, PlanningCase) and record.look is not None


def begins(context: PipelineContext, record: CaseRecord) -> None:
    stored = context.healing.waves.find(record.deed)
    if stored is not None and not stored.deed.begun:
        stored.deed = stored.deed._replace(begun=True)


def ended(context: PipelineContext, record: CaseRecord, outcome: str, reason: str, entry: LedgerRecord) -> None:
    """Judge a deed's member that has ended or made something worse: in the same transaction the deed stops, if it does,
    and those that wait are due."""
    stored = context.healing.waves.find(record.deed)
    member = None if stored is None else stored.members.get(record.id)
    if stored is None or member is None:
        return
    was_stopped, verdict = stored.deed.stopped, stage.verdict_of(record, outcome, worse=bool(entry.worse))
    change = stage.judged(stored.deed, member, verdict, f"{outcome}, {reason}" if reason else outcome)
    if not change.members:
        return
    stored.keep(change)
    if context.healing.waves.asking_of(stored.deed.id) is not None:
        context.deeds.add(stored.deed.id)
    if stored.deed.stopped and not was_stopped:
        _stop(context, stored)
    if stored.deed.is_over:
        deed = stored.deed = stored.deed._replace(ended=True)
        if deed.is_shared and not deed.told and (deed.wave or outcome == "expired"):
            notifications.deed_over(context, deed, list(islice(stored.targets, notifications.NAMED)), outcome)
    elif not stored.deed.stopped and not stored.deed.acting:
        _wake_next(context, stored)


def _wake_next(context: PipelineContext, stored: StoredDeed) -> None:
    for member in stored.in_line():
        case = context.book.find(member.case_id)
        if case is not None:
            context.book.schedule(case, context.now)
            return


def _stop(context: PipelineContext, stored: StoredDeed) -> None:
    """People hear of it once. Thousands may wait: the pipeline tells some at a time; whoever looks by itself
    meanwhile knows, too."""
    left = [member.target for member in stored.members.values() if _is_left(context, stored.deed, member)]
    if left:
        context.book.submit(context.root, DeedStopped(stored.deed.id))
        notifications.deed_stopped(context, stored.deed, left)
    stored.deed = stored.deed._replace(told=bool(left))


def _is_left(context: PipelineContext, deed: Deed, member: DeedMember) -> bool:
    """Its turn has not come, or it has not begun."""
    return member.waits or (member.wave == deed.wave and _not_begun(context, member) is not None)


def _not_begun(context: PipelineContext, member: DeedMember) -> Case | None:
    case = None if member.verdict else context.book.find(member.case_id)
    return case if case is not None and isinstance(case.record, NOT_BEGUN) and not case.record.tried else None


def tell_stopped(context: PipelineContext, stopped: DeedStopped) -> None:
    """A page, and a message to go on."""
    stored = context.healing.waves.find(stopped.deed)
    page = [] if stored is None else list(islice(stored.members.items(stopped.after, excludemin=True), TOLD_AT_ONCE))
    for _, member in page:
        case = _not_begun(context, member)
        if case is not None:
            context.book.schedule(case, context.now)
    if len(page) == TOLD_AT_ONCE:
        context.book.submit(context.root, stopped._replace(after=page[-1][0]))


def is_told_with_its_deed(context: PipelineContext, record: CaseRecord, outcome: str) -> bool:
    """Nobody has decided in time: once for all of the outage."""
    stored = context.healing.waves.find(record.deed)
    return stored is not None and stored.deed.is_shared and outcome == "expired"
