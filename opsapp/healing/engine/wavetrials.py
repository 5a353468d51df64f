"""Waves that are trials, in the store: what is compared is committed with the wave, and measured anew at its moment.

Until then no wave opens. A kill in between leaves the trial as it was committed. Must not: decide who goes.
"""

from __future__ import annotations

from opsapp.healing.logic.changes import hour_of
from opsapp.healing.resources.trials import DrawnOutage, TossedCoin
from opsapp.healing.resources.waves import StoredDeed
from opsapp.healing.stages import wavetrials as stage
from opsapp.healing.stages.holdout import TREATED, share_of
from opsapp.healing.stages.timing import POLL_S
from opsapp.healing.stages.waves import DeedMember
from opsapp.healing.stages.wavetrials import ComparedHost, WaveTrial
from opsapp.lib.ids import new_id
from opsapp.wire.conditions import parse

from . import trials
from .context import PipelineContext


def begin(context: PipelineContext, stored: StoredDeed, went: tuple[DeedMember, ...]) -> None:
    """With a wave that has opened: it is a trial if others wait, and past heals say when its verdict usually comes,
    those of the waves before it above all (docs/adr/136)."""
    deed, book = stored.deed, context.healing.trials
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
    """Whether its condition can be measured at a moment. An event says once that something is over."""
    case = context.book.find(host.case_id)
    if case is None:
        return False
    about = case.record.about
    return about.source == "alert" and bool(about.subject) and not parse(about.condition).reads_events


def compare(context: PipelineContext) -> None:
    """Waves whose moment has come: who was not heard since is asked, and what is known counts."""
    for name, trial in context.healing.trials.compared():
        if trial.due > context.now:
            continue
        seen = trial._replace(hosts=tuple(_looked_at(context, host, trial) for host in trial.hosts))
        if seen.is_over(context.now):
            _end(context, name, seen)
        else:
            context.healing.trials.compare(name, seen._replace(due=context.now + POLL_S))


def _looked_at(context: PipelineContext, host: ComparedHost, trial: WaveTrial) -> ComparedHost:
    case = context.book.find(host.case_id)
    if case is None or host.well is not None:
        return host
    host = stage.looked_at(host, context.world.reading(case.record.about), trial)
    if host.well is None:
        context.above.append(str(case.record.about.subject))
    return host


def _end(context: PipelineContext, name: str, trial: WaveTrial) -> None:
    """Once: it is let go in the transaction that counts it, and the next wave may open. Where people have worked
    meanwhile nobody can say what has helped."""
    book, stored = context.healing.trials, context.healing.waves.find(trial.deed)
    alone = all(trials.people_at(context, host.case_id, trial.opened_at) is None for host in trial.hosts)
    trials.count(context, trial.rule_id, name, trial.shares if alone else None)
    book.let_go_of(name)
    if stored is not None and stored.deed.trial == name:
        stored.deed = stored.deed._replace(trial="")
        context.deeds.add(trial.deed)
