"""Trials in the store: begun with a case, decided when its window is over, when it recovers, or when something acts.

What is decided counts for the rule's lift, which is part of its trust.
"""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.logic import windows
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources.cases import NEVER, Case
from opsapp.healing.resources.trials import Durations, Healed
from opsapp.healing.stages import trials as stage
from opsapp.healing.stages.attempt import comes_to
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.trials import CONTROL, TREATED, Trial
from opsapp.wire.verdicts import ASK_AGAIN_S, FAILED, VERIFIED, ConditionLook

from . import evidence
from .context import PipelineContext

AT_ONCE = 500


def begin(context: PipelineContext, record: CaseRecord) -> None:
    if stage.begins(record):
        window_s = stage.window_of(record.rule_id, context.world)
        context.healing.trials.begin(Trial(record.id, record.rule_id, record.target, record.opened_at, window_s))


def recovered(context: PipelineContext, rule_id: str, target: str, at: float) -> None:
    """The condition is known false since `at`. What something was done about is judged with its case."""
    trial = context.healing.trials.of(rule_id, target)
    if trial is None:
        return
    case = context.book.find(trial.case_id)
    _note_recovery(case, at)
    if trial.acted_at is not None:
        return
    if trial.arm == CONTROL or at > trial.ends_at or case is None:
        _lasted(context, trial, at, _touched_at(context, trial) > at)
        context.healing.trials.end(trial)
    else:
        _follow(context, trial, ConditionLook(False, at), case.record)


def look(context: PipelineContext) -> None:
    """Trials whose window is over, or that were followed for long enough."""
    for trial in context.healing.trials.ready(context.now, AT_ONCE):
        if trial.arm == CONTROL:
            _lasted(context, trial, context.now, False)
            context.healing.trials.end(trial)
        else:
            _decide(context, trial)


def _follow(context: PipelineContext, trial: Trial, look: ConditionLook, case: CaseRecord) -> None:
    """A look at a case that nobody has acted on, within its window."""
    judgement = stage.left_alone(trial, context.healing.trials.seen(trial), look, case, context.world)
    measured_at = look.measured_at or context.now
    if judgement.kind == VERIFIED:
        by_itself = _touched_at(context, trial) > measured_at
        if by_itself and measured_at <= trial.ends_at:
            _count(context, trial, CONTROL, True)
        _lasted(context, trial, measured_at, by_itself)
        context.healing.trials.end(trial)
    elif judgement.kind == FAILED and measured_at > trial.ends_at - ASK_AGAIN_S:
        _count(context, trial, CONTROL, False)
        known = trial._replace(arm=CONTROL)
        context.healing.trials.keep(known, known.due)
    elif context.now > trial.ends_at + stage.GRACE_S:
        context.healing.trials.end(trial)  # nobody can say
    else:
        context.healing.trials.note_seen(trial, judgement.seen)
        context.above.append(str(case.about.subject))
        context.healing.trials.keep(trial, context.now + stage.LOOK_S)


def _decide(context: PipelineContext, trial: Trial) -> None:
    """The window is over, or the condition was known false, and nobody has acted: does it hold?"""
    case = context.book.find(trial.case_id)
    if case is None or trial.rule_id not in context.world.rules:
        context.healing.trials.end(trial)
        return
    if _touched_at(context, trial) < NEVER:
        _lasted(context, trial, context.now, False)
        context.healing.trials.end(trial)
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
    arm = trial.arm
    if arm is None and context.now >= trial.ends_at:
        arm = CONTROL
        if _touched_at(context, trial) > trial.ends_at:
            _count(context, trial, CONTROL, False)
    _lasted(context, trial, context.now, False)
    context.healing.trials.keep(trial._replace(arm=arm or TREATED, acted_at=context.now), None)


def ends(context: PipelineContext, record: CaseRecord, outcome: str, reason: str) -> None:
    """Its case ends. What nobody acted on goes on being followed, unless a person or a change came in between."""
    trial = context.healing.trials.open.get(record.id)
    if trial is None:
        return
    if trial.acted_at is not None:
        _judge(context, trial, record, outcome)
        context.healing.trials.end(trial)
    elif reason.startswith("condition_gone"):
        measured_at = context.world.reading(record.about).measured_at
        recovered(context, trial.rule_id, trial.target, measured_at or context.now)
    elif outcome not in stage.FOLLOWED_ON:
        context.healing.trials.end(trial)


def _judge(context: PipelineContext, trial: Trial, record: CaseRecord, outcome: str) -> None:
    trust = context.world.trust.get(trial.rule_id)
    result = None if trust is None else comes_to(record.tried, outcome, trust.definition)
    acted_at = trial.acted_at or context.now
    if result == "verified":
        durations = _durations(context, trial.rule_id)
        if durations is not None:
            durations.took(Healed(context.now - trial.began_at, context.now - acted_at))
    if trial.arm != TREATED or result not in ("verified", "failed"):
        return
    has_recovered = stage.helped(trial, record, result, context.now)
    if has_recovered is not None:
        _count(context, trial, TREATED, has_recovered)


def _count(context: PipelineContext, trial: Trial, arm: str, has_recovered: bool) -> None:
    evidence.count_trial(context, trial.rule_id, arm, has_recovered)


def _lasted(context: PipelineContext, trial: Trial, until: float, has_recovered: bool) -> None:
    """Nobody knows how long what somebody has meddled with would have gone on."""
    durations = _durations(context, trial.rule_id)
    if durations is not None:
        durations.lasted(max(0.0, min(until, _touched_at(context, trial)) - trial.began_at), has_recovered)


def _durations(context: PipelineContext, rule_id: str) -> Durations | None:
    trust = context.world.trust.get(rule_id)
    return None if trust is None else context.healing.trials.durations_of(rule_id, trust.definition)


def _touched_at(context: PipelineContext, trial: Trial) -> float:
    """When something else was done on the same host first since the case began, or somebody took care of it: from then
    on nobody can say what helped. NEVER: nothing was. A window that is on may mean that people work there."""
    case = context.book.find(trial.case_id)
    host = names_of(trial.target)[-1]
    times = [heal.at for heal in context.healing.acts(context.now) if names_of(heal.target)[-1] == host]
    times = [at for at in times if at >= trial.began_at]
    if case is not None:
        about = case.record.about
        done = context.fleet.intervened(context.root, str(about.subject), about.agent_id, trial.began_at)
        times += [] if done is None else [done]
        times += [trial.began_at] if windows.permitted(context.world.windows, about.called).reasons else []
    return min(times, default=NEVER)


def _note_recovery(case: Case | None, at: float) -> None:
    if case is not None and case.record.recovered_at is None:
        case.record = replace(case.record, recovered_at=at)
