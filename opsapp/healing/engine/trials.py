"""Trials in the store: begun with a case, given their coin at the decision to act, judged when the window is over, when
the case recovers, or when its heal has ended.

What is judged counts for the rule's lift, which is part of its trust, in the order of the coins.
"""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.logic import windows
from opsapp.healing.logic.lift import Draw
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources.cases import NEVER, Case
from opsapp.healing.resources.trials import Durations, Healed, TossedCoin
from opsapp.healing.stages import trials as stage
from opsapp.healing.stages.attempt import comes_to
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.holdout import TREATED
from opsapp.healing.stages.trials import Trial
from opsapp.wire.verdicts import ASK_AGAIN_S, FAILED, VERIFIED, ConditionLook

from . import evidence
from .context import PipelineContext

AT_ONCE = 500


def begin(context: PipelineContext, record: CaseRecord) -> None:
    """A case that comes while an earlier one is still left alone shows that the condition comes and goes."""
    book = context.healing.trials
    if not stage.begins(record) or book.begin(_new(context, record)):
        return
    earlier = book.of(record.rule_id, record.target)
    if earlier is not None and earlier.waits:
        book.note_seen(earlier, book.seen(earlier)._replace(flaps=True))


def _new(context: PipelineContext, record: CaseRecord) -> Trial:
    window_s = stage.window_of(record.rule_id, context.world)
    return Trial(record.id, record.rule_id, record.target, record.opened_at, window_s)


def toss(context: PipelineContext, before: CaseRecord, record: CaseRecord) -> None:
    """Its coin may have been tossed just now: what it says is committed with what follows from it."""
    if before.arm is not None or record.arm is None or record.share is None:
        return
    trial = _of(context, record)
    trust = context.world.trust[record.rule_id]
    draw = Draw(record.share, trust.trials.guess(record.share), record.arm == TREATED)
    coins = context.healing.trials.coins_of(record.rule_id)
    coins.toss(TossedCoin(record.id, trust.definition, draw), record.opened_at, record.arm)
    trial = trial._replace(draw=draw, drawn_at=context.now, window_s=stage.window_drawn(record, context.world))
    context.healing.trials.keep(trial, trial.ends_at if trial.waits else None)


def _of(context: PipelineContext, record: CaseRecord) -> Trial:
    """The case's trial. One of an earlier case of the same target ends when this one is decided on."""
    book = context.healing.trials
    trial: Trial | None = book.open.get(record.id)
    if trial is not None:
        return trial
    earlier = book.of(record.rule_id, record.target)
    if earlier is not None:
        _end(context, earlier, context.now, recovered=False)
    trial = _new(context, record)
    book.begin(trial)
    return trial


def recovered(context: PipelineContext, rule_id: str, target: str, at: float) -> None:
    """The condition is known false since `at`. What something was done about is judged with its case."""
    trial = context.healing.trials.of(rule_id, target)
    if trial is None:
        return
    case = context.book.find(trial.case_id)
    _note_recovery(case, at)
    if trial.acted_at is not None:
        return
    if trial.waits and case is not None and at <= trial.ends_at:
        _follow(context, trial, ConditionLook(False, at), case.record)
    else:
        _end(context, trial, at, recovered=_touched_at(context, trial) > at)


def look(context: PipelineContext) -> None:
    """Trials whose window is over, or that were followed for long enough."""
    for trial in context.healing.trials.ready(context.now, AT_ONCE):
        if trial.waits:
            _decide(context, trial)
        else:
            _end(context, trial, context.now, recovered=False)


def _follow(context: PipelineContext, trial: Trial, look: ConditionLook, case: CaseRecord) -> None:
    """A look at a case that its coin leaves alone."""
    judgement = stage.left_alone(trial, context.healing.trials.seen(trial), look, case, context.world)
    measured_at = look.measured_at or context.now
    if judgement.kind == VERIFIED:
        by_itself = _touched_at(context, trial, trial.drawn_at) > measured_at and measured_at <= trial.ends_at
        _judge(context, trial, True if by_itself else None)
        _end(context, trial, measured_at, recovered=_touched_at(context, trial) > measured_at)
    elif judgement.kind == FAILED and measured_at > trial.ends_at - ASK_AGAIN_S:
        known = _judge(context, trial, False)
        context.healing.trials.keep(known, trial.began_at + stage.FOLLOWED_S)
    elif context.now > trial.ends_at + stage.GRACE_S:
        _end(context, trial, context.now, recovered=False)  # nobody can say
    else:
        context.healing.trials.note_seen(trial, judgement.seen)
        context.above.append(str(case.about.subject))
        context.healing.trials.keep(trial, stage.looked_at_next(trial, context.world))


def _decide(context: PipelineContext, trial: Trial) -> None:
    """The window is over, or the condition was known false, and nobody has acted: does it hold?"""
    case = context.book.find(trial.case_id)
    if case is None or trial.rule_id not in context.world.rules or _touched_at(context, trial, trial.drawn_at) < NEVER:
        _end(context, trial, context.now, recovered=False)
        return
    reading = context.world.reading(case.record.about)
    if reading.verdict is False:
        _note_recovery(case, reading.measured_at or context.now)
    _follow(context, trial, ConditionLook(reading.verdict, reading.measured_at), case.record)


def acts(context: PipelineContext, record: CaseRecord) -> None:
    """Something is about to be done. What acts after the window was left alone for all of it, and holds still."""
    trial = context.healing.trials.open.get(record.id)
    if trial is None or trial.acted_at is not None:
        return
    if trial.waits:
        whole = context.now >= trial.ends_at and _touched_at(context, trial, trial.drawn_at) > trial.ends_at
        trial = _judge(context, trial, False if whole else None)
    _lasted(context, trial, context.now, False)
    context.healing.trials.keep(trial._replace(acted_at=context.now), None)


def ends(context: PipelineContext, record: CaseRecord, outcome: str, reason: str) -> None:
    """Its case ends. What nobody acted on goes on being followed, unless a person or a change came in between."""
    trial = context.healing.trials.open.get(record.id)
    if trial is None:
        return
    if trial.acted_at is not None:
        _healed(context, trial, record, outcome)
        context.healing.trials.end(trial)
    elif reason.startswith("condition_gone"):
        measured_at = context.world.reading(record.about).measured_at
        recovered(context, trial.rule_id, trial.target, measured_at or context.now)
    elif outcome not in stage.FOLLOWED_ON or trial.waits:
        _judge(context, trial, None)
        context.healing.trials.end(trial)


def _healed(context: PipelineContext, trial: Trial, record: CaseRecord, outcome: str) -> None:
    trust = context.world.trust.get(trial.rule_id)
    result = None if trust is None else comes_to(record.tried, outcome, trust.definition)
    acted_at = trial.acted_at or context.now
    if result == "verified":
        durations = _durations(context, trial.rule_id)
        if durations is not None:
            durations.took(Healed(context.now - trial.began_at, context.now - acted_at))
    known = result in ("verified", "failed") and _people_at(context, trial, trial.drawn_at) is None
    _judge(context, trial, stage.helped(trial, record, str(result), context.now) if known else None)


def _judge(context: PipelineContext, trial: Trial, has_recovered: bool | None) -> Trial:
    """What its coin has shown; None: nobody can say. It counts when all before it have ended."""
    if trial.draw is None or trial.judged:
        return trial
    for coin in context.healing.trials.coins_of(trial.rule_id).judge(trial.case_id, has_recovered):
        if coin.recovered is not None:
            evidence.count_trial(context, trial.rule_id, coin)
    return trial._replace(judged=True)


def _end(context: PipelineContext, trial: Trial, at: float, *, recovered: bool) -> None:
    """Nobody looks at it any more. Its coin, if nobody knows by now, will never be judged."""
    _judge(context, trial, None)
    _lasted(context, trial, at, recovered)
    context.healing.trials.end(trial)


def _lasted(context: PipelineContext, trial: Trial, until: float, has_recovered: bool) -> None:
    """Nobody knows how long what somebody has meddled with would have gone on."""
    durations = _durations(context, trial.rule_id)
    if durations is not None:
        durations.lasted(max(0.0, min(until, _touched_at(context, trial)) - trial.began_at), has_recovered)


def _durations(context: PipelineContext, rule_id: str) -> Durations | None:
    trust = context.world.trust.get(rule_id)
    return None if trust is None else context.healing.trials.durations_of(rule_id, trust.definition)


def _touched_at(context: PipelineContext, trial: Trial, since: float | None = None) -> float:
    """When something else was done on the same host first since then (the case began), or somebody took care of it:
    from then on nobody can say what helped. NEVER: nothing was."""
    since = trial.began_at if since is None else since
    host = names_of(trial.target)[-1]
    times = [heal.at for heal in context.healing.acts(context.now) if names_of(heal.target)[-1] == host]
    people = _people_at(context, trial, since)
    return min([at for at in times if at >= since] + ([] if people is None else [people]), default=NEVER)


def _people_at(context: PipelineContext, trial: Trial, since: float) -> float | None:
    """When people first did something there, or took care of it. A window that is on may mean that they work there."""
    case = context.book.find(trial.case_id)
    if case is None:
        return None
    about = case.record.about
    if windows.permitted(context.world.windows, about.called).reasons:
        return since
    return context.fleet.intervened(context.root, str(about.subject), about.agent_id, since)


def _note_recovery(case: Case | None, at: float) -> None:
    if case is not None and case.record.recovered_at is None:
        case.record = replace(case.record, recovered_at=at)
