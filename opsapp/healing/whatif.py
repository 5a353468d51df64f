"""Answers about what would be: the dry run, a condition compared with live readings, the replay, a draft rule over the
past."""

from __future__ import annotations

from opsapp.web.fields import Body, anything, choice, field, flag, list_of, map_of, number, scalar, text, whole

from .logic.levels import LEVELS, SEVERITIES
from .schemas import SOURCES, ComparedValue


class SimulatedEvent(Body):
    source = choice(*SOURCES)
    rule_id = text()
    condition = text()
    target = text()
    severity = choice(*SEVERITIES)
    metrics = map_of(ComparedValue)


class SimulatedCorrelation(Body):
    kind = text()
    case_id = text(null=True)
    reason = text()


class SimulatedDependency(Body):
    root_cause = text()
    suppressed = flag()
    depends_on = list_of(text())
    site = text(null=True)


class SimulatedWindow(Body):
    effect = text(null=True)
    cap = text(null=True)
    reasons = list_of(text())


class SimulatedTrust(Body):
    level = choice(*LEVELS)
    effective_level = choice(*LEVELS)
    reasons = list_of(text())


class SkippedStep(Body):
    step = whole()
    action = text()
    reason = text()


class SelectedAction(Body):
    action_type = text()
    action_params = map_of(anything())
    step = whole()
    risk = text()
    skipped = list_of(SkippedStep)


class PreflightCheck(Body):
    check = text()
    passed = flag()
    detail = text()


class Preflight(Body):
    passed = flag()
    checks = list_of(PreflightCheck)


class RollbackPlan(Body):
    reversible = flag()
    how = text()
    snapshot = flag(optional=True)


class Simulated(Body):
    event = SimulatedEvent()
    correlation = SimulatedCorrelation()
    dependency = SimulatedDependency()
    window = SimulatedWindow()
    trust = SimulatedTrust()
    action_selection = field(SelectedAction, null=True)
    pre_flight = Preflight()
    rollback_plan = RollbackPlan()
    would = choice("execute", "request_approval", "notify", "simulate", "observe", "suppress", "absorb", "nothing")
    why = list_of(text())


class ReplayDifference(Body):
    event = map_of(anything())
    then = text()
    then_action = text(null=True)
    then_outcome = text(null=True)
    would = text()
    would_action = text(null=True)
    would_outcome = text(null=True)
    ledger_id = whole()
    events = whole()


class ReplayedRule(Body):
    rule_id = text()
    recorded = whole(0)
    would = whole(0)


class Replayed(Body):
    events = whole()
    same = whole()
    rules = list_of(ReplayedRule)
    differences = list_of(ReplayDifference, 100_000)


class ComparedTarget(Body):
    """A condition compared with what one target reports now. `held_s`: for how long it has been seen to hold."""

    target = text()
    name = text()
    subject = text()
    verdict = flag(null=True)
    readings = map_of(scalar())
    missing = list_of(text())


class Compared(Body):
    matching = whole(0)
    holds = whole(0)
    false = whole(0)
    unknown = whole(0)
    targets = list_of(ComparedTarget)


class ReadingRecord(Body):
    """The name of a reading as conditions say it, of how many hosts or monitors, and one value of it."""

    name = text()
    of = choice("host", "monitor")
    subjects = whole(1)
    example = scalar()
    on = text()


class TimeSpan(Body):
    at = whole(0)
    until = whole(0)


class RehearsedFiring(Body):
    """One time at which the draft would have fired. `since`: from when on its condition held; `until`: when it was
    known false again, null where nobody knows. `again`: the same failure, after the cooldown. `would`: what would have
    been done at the level that it has. `would_act`: nothing but that level would have stopped it, at the beginning of a
    failure. `over_by_itself`: within `window_s`, with nothing done about it; null where nobody knows. `resolution_s`:
    how far apart its readings were."""

    at = whole(0)
    target = text()
    since = whole(0)
    until = whole(0, null=True)
    lasted_s = whole(0, null=True)
    again = flag()
    over_by_itself = flag(null=True)
    would = choice("execute", "request_approval", "notify", "simulate", "observe", "suppress", "absorb", "nothing")
    would_act = flag()
    blocked_by = list_of(text())
    readings = map_of(scalar())
    resolution_s = number()
    link = text()


class RehearsedTarget(Body):
    """`firings` is null where nothing was known of it. `held` and `unknown`: when the condition was true, or nobody
    knows whether it was; the longest 200 of each."""

    target = text()
    subject = text()
    firings = whole(0, null=True)
    unknown_s = whole(0)
    held = list_of(TimeSpan)
    unknown = list_of(TimeSpan)


class StopCount(Body):
    by = text()
    firings = whole(1)


class SavedMinutes(Body):
    """Of ten such ranges eight hold the truth."""

    value = number()
    low = number()
    high = number()


class Rehearsed(Body):
    """What a draft would have done over stored readings. `raw_since`: from then on each reading is kept, before it
    means of some minutes; null where none is. Counts are null where nothing was known, `expected_saved_minutes` where
    nobody knows what the action does; `why` says what is missing. `failures`: firings without those that are `again`.
    `left_out`: firings that are counted and not listed, the oldest. `learned_from`: rules with the same first action.
    `not_kept`: readings that the condition names and that have no history."""

    since = whole(0, name="from")
    until = whole(0, name="to")
    raw_since = whole(0, null=True)
    firings = list_of(RehearsedFiring)
    total = whole(0, null=True)
    failures = whole(0, null=True)
    left_out = whole(0)
    by_target = list_of(RehearsedTarget, 20_000)
    over_by_itself = whole(0, null=True)
    would_act = whole(0, null=True)
    stopped_by = list_of(StopCount)
    window_s = number()
    expected_saved_minutes = field(SavedMinutes, null=True)
    why = text()
    learned_from = list_of(text())
    unknown_s = whole(0)
    not_kept = list_of(text())
