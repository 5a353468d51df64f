"""Trials in the store: begun with a case, given their coin at the decision to act, and judged by what is measured
within the window, whatever the arm and whatever becomes of the case.

What is judged counts for the rule's lift in the order of the coins.
"""

from __future__ import annotations

from dataclasses import replace

from opsapp.healing.logic import windows
from opsapp.healing.logic.changes import hour_of
from opsapp.healing.logic.lift import Draw, Shares
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import NEVER, Case
from opsapp.healing.resources.trials import DrawnOutage, Durations, Healed, TossedCoin
from opsapp.healing.stages import trials as stage
from opsapp.healing.stages.case import CaseRecord, ClosedCase
from opsapp.healing.stages.holdout import TREATED, is_left_alone, urged
from opsapp.healing.stages.trials import Trial
from opsapp.lib.problems import Conflict
from opsapp.tree.root import Root
from opsapp.wire.verdicts import ASK_AGAIN_S, FAILED, VERIFIED, ConditionLook

from . import trusted
from .context import PipelineContext

AT_ONCE = 500


def act_now(root: Root, case_id: str, by: str, now: float) -> None:
    """What the case shows from now on says nothing of either arm."""
    book = healing_of(root).book
    case = book.cases[case_id]
    if not is_left_alone(case.record, now):
        raise Conflict("This case is not left alone: nothing waits here.", code="not_left_alone")
    book.take_up(root, case, urged(case.record, by, now), now)


def begin(context: PipelineContext, record: CaseRecord) -> None:
    """A case that comes while an earlier one is not judged shows that the condition comes and goes."""
    book = context.trials
    if not stage.begins(record) or book.begin(_new(context, record)):
        return
    earlier = book.of(record.rule_id, record.target)
    if earlier is not None and earlier.is_undecided:
        book.note_seen(earlier, book.seen(earlier)._replace(flaps=True))


def _new(context: PipelineContext, record: CaseRecord) -> Trial:
    window_s = stage.window_of(record.rule_id, context.world)
    return Trial(record.id, record.rule_id, record.target, record.opened_at, window_s)


def toss(context: PipelineContext, before: CaseRecord, record: CaseRecord) -> None:
    """What it says is committed with what follows from it."""
    if before.arm is not None or record.arm is None or record.share is None:
        return
    trial = _of(context, record)
    trust = context.world.trust[record.rule_id]
    draw = Draw(record.share, trust.trials.guess(record.share), record.arm == TREATED)
    coins = context.trials.coins_of(record.rule_id)
    root = context.trials.root_of(record.rule_id, record.target)
    coin = TossedCoin(record.id, trust.definition, draw, hour=hour_of(context.now))
    coins.toss(coin, DrawnOutage(record.opened_at, record.arm, root))
    trial = trial._replace(draw=draw, drawn_at=context.now, window_s=stage.window_drawn(record, context.world))
    context.trials.keep(trial, trial.ends_at)


def _of(context: PipelineContext, record: CaseRecord) -> Trial:
    """A trial of an earlier case of the same target ends when this one is decided on."""
    book = context.trials
    trial: Trial | None = book.open.get(record.id)
    if trial is not None:
        return trial
    earlier = book.of(record.rule_id, record.target)
    if earlier is not None:
        _end(context, earlier, context.now, recovered=False)
    trial = _new(context, record)
    book.begin(trial)
    return trial


def held_back(context: PipelineContext, rule_id: str, target: str, root_cause: str) -> None:
    """Whatever this becomes, it belongs to the outage of its root cause."""
    outage = trusted.outage_of(context, root_cause)
    if outage:
        context.trials.note_root(rule_id, target, outage)


def recovered(context: PipelineContext, rule_id: str, target: str, at: float) -> None:
    """The condition is known false since `at`."""
    context.trials.forget_root(rule_id, target)
    trial = context.trials.of(rule_id, target)
    if trial is None:
        return
    case = context.book.find(trial.case_id)
    _note_recovery(case, at)
    if trial.is_undecided and case is not None and at <= trial.ends_at:
        _follow(context, trial, ConditionLook(False, at), case.record)
    elif trial.acted_at is None:
        _end(context, trial, at, recovered=_touched_at(context, trial) > at)


def look(context: PipelineContext) -> None:
    """The window is over, or they were followed for long enough."""
    for trial in context.trials.ready(context.now, AT_ONCE):
        if trial.is_undecided:
            _decide(context, trial)
        else:
            _end(context, trial, context.now, recovered=False)


def _follow(context: PipelineContext, trial: Trial, look: ConditionLook, case: CaseRecord) -> None:
    """A case whose coin is not judged yet: the same for both arms."""
    judgement = stage.looked_at(trial, context.trials.seen(trial), look, case, context.world)
    measured_at = look.measured_at or context.now
    if judgement.kind == VERIFIED:
        person_at = people_at(context, trial.case_id, trial.drawn_at)
        known = measured_at <= trial.ends_at and (person_at is None or person_at > measured_at)
        _let_go(context, _judge(context, trial, True if known else None), measured_at, recovered=True)
    elif judgement.kind == FAILED and measured_at > trial.ends_at - ASK_AGAIN_S:
        trial = _judge(context, trial, False)
        if trial.acted_at is None:
            context.trials.keep(trial, trial.began_at + stage.FOLLOWED_S)
        else:
            _let_go(context, trial, measured_at, recovered=False)
    elif context.now > trial.ends_at + stage.GRACE_S:
        _let_go(context, _judge(context, trial, None), context.now, recovered=False)  # nobody can say
    else:
        context.trials.note_seen(trial, judgement.seen)
        context.above.append(str(case.about.subject))
        context.trials.keep(trial, stage.looked_at_next(trial, context.world))


def _decide(context: PipelineContext, trial: Trial) -> None:
    case = context.book.find(trial.case_id)
    known = case is not None and trial.rule_id in context.world.rules
    if case is None or not known or people_at(context, trial.case_id, trial.drawn_at) is not None:
        _let_go(context, _judge(context, trial, None), context.now, recovered=False)
        return
    reading = context.world.reading(case.record.about)
    if reading.verdict is False:
        _note_recovery(case, reading.measured_at or context.now)
    _follow(context, trial, ConditionLook(reading.verdict, reading.measured_at), case.record)


def _let_go(context: PipelineContext, trial: Trial, at: float, *, recovered: bool) -> None:
    """Its coin is judged. A case that something is being done about still says how long that takes."""
    case = context.book.find(trial.case_id)
    if trial.acted_at is not None and case is not None and case.record.state != ClosedCase.state:
        context.trials.keep(trial, None)
    else:
        _end(context, trial, at, recovered=recovered and _touched_at(context, trial) > at)


def acts(context: PipelineContext, record: CaseRecord) -> None:
    """What acts after the window was left alone for all of it, and holds still."""
    trial = context.trials.open.get(record.id)
    if trial is None or trial.acted_at is not None:
        return
    if trial.waits:
        whole = context.now >= trial.ends_at and people_at(context, trial.case_id, trial.drawn_at) is None
        trial = _judge(context, trial, False if whole else None)
    _lasted(context, trial, context.now, False)
    trial = trial._replace(acted_at=context.now)
    context.trials.keep(trial, trial.ends_at if trial.is_undecided else None)


def ends(context: PipelineContext, record: CaseRecord, outcome: str, reason: str) -> None:
    """A trial whose coin is not judged yet goes on: to drop it here would be a choice after the coin. What no coin
    has drawn is followed on unless somebody acted or decided about it."""
    if outcome == "verified":
        context.trials.forget_root(record.rule_id, record.target)
    trial = context.trials.open.get(record.id)
    if trial is None:
        return
    if trial.acted_at is not None and outcome == "verified":
        _note_heal(context, trial, trial.acted_at)
    if trial.is_undecided:
        _follow(context, trial, _proof(context, record, outcome), record)
    elif trial.acted_at is not None:
        context.trials.end(trial)
    elif reason.startswith("condition_gone"):
        measured_at = context.world.reading(record.about).measured_at
        recovered(context, trial.rule_id, trial.target, measured_at or context.now)
    elif outcome not in stage.FOLLOWED_ON:
        context.trials.end(trial)


def _proof(context: PipelineContext, record: CaseRecord, outcome: str) -> ConditionLook:
    if outcome == "verified" and record.recovered_at is not None:
        return ConditionLook(False, record.recovered_at)
    reading = context.world.reading(record.about)
    return ConditionLook(reading.verdict, reading.measured_at)


def _note_heal(context: PipelineContext, trial: Trial, acted_at: float) -> None:
    durations = _durations(context, trial.rule_id)
    if durations is not None:
        durations.took(Healed(context.now - trial.began_at, context.now - acted_at))


def _judge(context: PipelineContext, trial: Trial, has_recovered: bool | None) -> Trial:
    """None: nobody can say. It counts when all before it have ended."""
    if trial.draw is None or trial.judged:
        return trial
    count(context, trial.rule_id, trial.case_id, has_recovered)
    return trial._replace(judged=True)


def count(context: PipelineContext, rule_id: str, name: str, shown: bool | Shares | None) -> None:
    """Count what the trial has shown, and what was shown by those that have waited for it."""
    for coin in context.trials.coins_of(rule_id).judge(name, shown):
        if coin.recovered is not None:
            trusted.count_trial(context, rule_id, coin)


def _end(context: PipelineContext, trial: Trial, at: float, *, recovered: bool) -> None:
    """Its coin, if nobody knows by now, will never be judged."""
    _judge(context, trial, None)
    if trial.acted_at is None:
        _lasted(context, trial, at, recovered)
    context.trials.end(trial)


def _lasted(context: PipelineContext, trial: Trial, until: float, has_recovered: bool) -> None:
    """How long what somebody has meddled with would have gone on nobody knows."""
    durations = _durations(context, trial.rule_id)
    if durations is not None:
        durations.lasted(max(0.0, min(until, _touched_at(context, trial)) - trial.began_at), has_recovered)


def _durations(context: PipelineContext, rule_id: str) -> Durations | None:
    trust = context.world.trust.get(rule_id)
    return None if trust is None else context.trials.durations_of(rule_id, trust.definition)


def _touched_at(context: PipelineContext, trial: Trial) -> float:
    """When something else was done on the same host, or somebody took care of it: from then on nobody can say what
    helped."""
    since, host = trial.began_at, names_of(trial.target)[-1]
    heals = (heal for heal in context.healing.acts(context.now) if heal.at >= since and host in heal.target)
    times = [heal.at for heal in heals if names_of(heal.target)[-1] == host]
    people = people_at(context, trial.case_id, since)
    return min(times + ([] if people is None else [people]), default=NEVER)


def people_at(context: PipelineContext, case_id: str, since: float) -> float | None:
    """A window that is on may mean that they work there."""
    case = context.book.find(case_id)
    if case is None:
        return None
    about = case.record.about
    if windows.permitted(context.world.windows, about.called).reasons:
        return since
    urged_at = case.record.urged_at
    done_at = context.fleet.intervened(context.root, str(about.subject), about.agent_id, since)
    return min((at for at in (urged_at, done_at) if at is not None and at >= since), default=None)


def _note_recovery(case: Case | None, at: float) -> None:
    if case is not None and case.record.recovered_at is None:
        case.record = replace(case.record, recovered_at=at)
