"""What follows for the deeds of which a transaction has learned something: people are asked, or the next wave goes.

A wave may be a trial, measured at its moment. Until then no wave opens; a kill in between leaves the trial as it was
committed. Must not: decide who goes.
"""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.logic.changes import hour_of
from opsapp.healing.resources.trials import DrawnOutage, TossedCoin
from opsapp.healing.resources.waves import StoredDeed
from opsapp.healing.stages import wavetrials as stage
from opsapp.healing.stages.holdout import TREATED, share_of
from opsapp.healing.stages.timing import POLL_S
from opsapp.healing.stages.waves import DeedMember, next_wave
from opsapp.healing.stages.wavetrials import ComparedHost, WaveTrial
from opsapp.lib.ids import new_id
from opsapp.wire.conditions import parse

from . import requestdrafts, steps, trials, waves
from .context import PipelineContext


def settle(context: PipelineContext) -> None:
    """Settle the deeds at the end of a transaction, when all of an outage that were due have said what they want."""
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
    """A single target need not wait for another transaction."""
    sizes = waves.sizes_of(context, stored.deed.rule_id)
    if sizes is None or waves.is_being_told(context, stored):
        return
    opened = next_wave(stored.deed, stored.in_line(), sizes)
    if not opened.members:
        return
    stored.keep(opened)
    begin(context, stored, opened.members)
    compared = bool(stored.deed.trial)
    for member in opened.members:
        case = context.book.find(member.case_id)
        if case is not None:
            context.book.keep(case, replace(case.record, wave=member.wave, compared=compared), context.now)
            if not opened.deed.is_shared:
                steps.advance(context, case)


def begin(context: PipelineContext, stored: StoredDeed, went: tuple[DeedMember, ...]) -> None:
    """A trial if others wait, and past heals say when its verdict usually comes, those of the waves before it above
    all (docs/adr/136)."""
    deed, book = stored.deed, context.trials
    takes_s = context.world.heal_takes(deed.rule_id, deed.ends.well) if deed.rule_id in context.world.rules else 0.0
    if not takes_s or deed.trial or not share_of(deed.rule_id, context.world).share:
        return
    if context.world.coin(went[-1].case_id) is None:
        return  # no key has drawn who goes
    hosts = tuple(host for host in stage.compared(went, stored.in_line()) if _is_measured(context, host))
    if {host.went for host in hosts} != {True, False}:
        return
    drawn = book.arm_of_outage(deed.rule_id, went[-1].target, deed.began_at)
    if deed.wave == 1 and drawn is not None:
        return  # a coin has fallen for this outage, and holds for whoever goes first
    name, definition = new_id(), context.world.trust[deed.rule_id].definition
    outage = DrawnOutage(deed.began_at, TREATED, book.root_of(deed.rule_id, went[-1].target))
    coin = TossedCoin(name, definition, None, hour=hour_of(context.now))
    book.coins_of(deed.rule_id).toss(coin, None if drawn else outage)
    moment = context.now + takes_s
    book.compare(name, WaveTrial(deed.id, deed.rule_id, context.now, moment, hosts, moment))
    stored.deed = deed._replace(trial=name)


def _is_measured(context: PipelineContext, host: ComparedHost) -> bool:
    """An event says only once that something is over."""
    case = context.book.find(host.case_id)
    if case is None:
        return False
    about = case.record.about
    return about.source == "alert" and bool(about.subject) and not parse(about.condition).reads_events


def compare(context: PipelineContext) -> None:
    """Compare the trials that are due at the moment: who was not heard since is asked."""
    for name, trial in context.trials.compared():
        if trial.due > context.now:
            continue
        seen = trial._replace(hosts=tuple(_looked_at(context, host, trial) for host in trial.hosts))
        if seen.is_over(context.now):
            _end(context, name, seen)
        else:
            context.trials.compare(name, seen._replace(due=context.now + POLL_S))


def _looked_at(context: PipelineContext, host: ComparedHost, trial: WaveTrial) -> ComparedHost:
    case = context.book.find(host.case_id)
    if case is None or host.well is not None:
        return host
    host = stage.looked_at(host, context.world.reading(case.record.about), trial)
    if host.well is None:
        context.above.append(str(case.record.about.subject))
    return host


def _end(context: PipelineContext, name: str, trial: WaveTrial) -> None:
    """It is let go in the transaction that counts it, and the next wave may open. Where people have worked meanwhile
    nobody can say what has helped."""
    book, stored = context.trials, context.healing.waves.find(trial.deed)
    alone = all(trials.people_at(context, host.case_id, trial.opened_at) is None for host in trial.hosts)
    trials.count(context, trial.rule_id, name, trial.shares if alone else None)
    book.let_go_of(name)
    if stored is not None and stored.deed.trial == name:
        stored.deed = stored.deed._replace(trial="")
        context.deeds.add(trial.deed)
