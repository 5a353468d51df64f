"""Answers about what would be: the dry run, a condition compared with live readings, the replay."""

from __future__ import annotations

from opsapp.web.fields import Body, anything, choice, field, flag, list_of, map_of, scalar, text, whole

from .schemas import LEVELS, SEVERITIES, SOURCES, ComparedValue


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
