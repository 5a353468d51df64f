"""What follows for the deeds of which a transaction has learned something: people are asked, or the next wave goes.

A wave may be a trial, measured at its moment. Until then no wave opens; a kill in between leaves the trial as it was
committed. People are asked about an outage once, about all of its targets: of more than `ASKED_AT_ONCE`, each
transaction keeps as many as a draft that nobody sees; the last one makes the request and its message. Must not: decide
who goes, or what a target wants; stages do.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import islice

from opsapp.healing.logic.changes import hour_of
from opsapp.healing.resources.cases import Case
from opsapp.healing.resources.requestdrafts import Asking, RequestDraft
from opsapp.healing.resources.trials import DrawnOutage, TossedCoin
from opsapp.healing.resources.waves import StoredDeed
from opsapp.healing.stages import moves
from opsapp.healing.stages import wavetrials as stage
from opsapp.healing.stages.approval import AskedTarget, HealPlan
from opsapp.healing.stages.case import CaseRecord, PlanningCase
from opsapp.healing.stages.holdout import TREATED, share_of
from opsapp.healing.stages.moves import AskApproval
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.timing import POLL_S
from opsapp.healing.stages.waves import GATHER_LOOK_S, DeedChange, DeedMember, next_wave
from opsapp.healing.stages.wavetrials import ComparedHost, WaveTrial
from opsapp.lib.ids import new_id
from opsapp.wire.conditions import reread
from opsapp.wire.spoken import spoken_action

from . import approvals, notifications, reach, steps, trials, waves
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
            ask_people(context, stored)
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
    about, condition = case.record.about, reread(case.record.about.condition)
    return about.source == "alert" and bool(about.subject) and condition is not None and not condition.reads_events


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
    del book.waves[name]
    if stored is not None and stored.deed.trial == name:
        stored.deed = stored.deed._replace(trial="")
        context.deeds.add(trial.deed)


ASKED_AT_ONCE = 200  # cases, in one transaction: as long as others may have to wait for it
Asked = list[tuple[Case, AskApproval]]
Step = tuple[str, int]  # the action, and its place in the chain


def ask_people(context: PipelineContext, stored: StoredDeed) -> None:
    """What comes later falls under a further request."""
    book, room = context.healing.waves, ASKED_AT_ONCE - context.asked
    asking = book.asking_of(stored.deed.id)
    wanting = _wanting(context, stored, "" if asking is None else asking.after, room + 1)
    if asking is None and not wanting:
        return
    if asking is None and waves.gathers(context, stored):
        context.book.schedule(wanting[0], context.now + GATHER_LOOK_S)
        return
    if asking is None and len(wanting) > room:
        asking = book.begin_asking(stored.deed.id)
    piece = wanting[:room]
    for step, asked in _planned(context, stored, piece).items():
        if asking is None:
            steps.ask_together(context, asked)
        else:
            _add(context, asking, step, asked)
        members = (stored.members[case.record.id]._replace(asked=True) for case, _ in asked)
        stored.keep(DeedChange(stored.deed, tuple(members)))
    if asking is None:
        return
    if piece:
        asking.after = piece[-1].record.id
    if len(wanting) <= room:
        book.end_asking(stored.deed.id)
        for draft in asking.whole():
            _ask_whole(context, draft)


def _wanting(context: PipelineContext, stored: StoredDeed, after: str, most: int) -> list[Case]:
    ids = stored.wanting.keys(after, excludemin=True)
    cases = (case for case_id in ids if (case := context.book.find(case_id)) is not None)
    return list(islice((case for case in cases if isinstance(case.record, PlanningCase)), max(most, 0)))


def _planned(context: PipelineContext, stored: StoredDeed, cases: list[Case]) -> dict[Step, Asked]:
    """Group the cases by what they would do; those that do not want to ask do what they want instead."""
    context.asking.add(stored.deed.id)
    context.asked += len(cases)
    alike = defaultdict[Step, Asked](list)
    for case in cases:
        then = steps.following_now(context, case.record)
        if isinstance(then, AskApproval) and then.plan.choice is not None:
            moves.check(case.record.place, then)
            alike[then.plan.choice.action.name, then.plan.choice.step.position].append((case, then))
        else:
            steps.carry_on(context, case, then)
    context.asking.discard(stored.deed.id)
    return alike


def _add(context: PipelineContext, asking: Asking, step: Step, asked: Asked) -> None:
    """Add the cases to the step's draft of a request; from here on they wait for it."""
    records = [steps.intent(context, then) for _, then in asked]
    plans = [then.plan for _, then in asked]
    shown = [
        approvals.shown(record, plan, context.world, context.root) for record, plan in zip(records, plans, strict=True)
    ]
    draft = asking.of_step(step) or _begun(context, asking, step, records[0], plans[0], shown[0])
    asked_about = [*zip(records, shown, strict=True)]
    subjects = {subject for record, plan in asked_about for subject in reach.subjects_asked(record, plan)}
    draft.add(tuple(approvals.target_of(record, plan) for record, plan in asked_about), subjects)
    for record, (case, then) in zip(records, asked, strict=True):
        steps.await_request(context, case, then._replace(case=record), draft.name, f"{draft.name}/{record.id}")


def _begun(
    context: PipelineContext, asking: Asking, step: Step, record: CaseRecord, plan: Plan, shown: HealPlan
) -> RequestDraft:
    assert plan.choice is not None
    reason, lowered = approvals.reason_of(context, record, plan), notifications.lowered(plan)
    draft = RequestDraft(step, shown, risk=plan.choice.action.risk, reason=reason, lowered=lowered)
    asking.drafts[draft.name] = draft
    return draft


def _ask_whole(context: PipelineContext, draft: RequestDraft) -> None:
    waiting = context.book.waiting_for
    targets = [target for target in draft.targets() if f"{draft.name}/{target.case_id}" in waiting]
    named = _records(context, targets[: notifications.NAMED])
    if not named:
        return
    approvals.ask_drafted(context, draft, named[0], targets)
    wish = notifications.Wish(spoken_action(draft.step[0]), draft.lowered, len(targets))
    notifications.asked(context, named, wish, draft.name)


def _records(context: PipelineContext, targets: list[AskedTarget]) -> list[CaseRecord]:
    records = (context.book.record_of(target.case_id) for target in targets)
    return [record for record in records if record is not None]
