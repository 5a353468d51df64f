"""Answers of /api/healing."""

from __future__ import annotations

from opsapp.web.fields import Body, anything, choice, field, flag, list_of, map_of, number, scalar, text, whole

from .schemas import LEVELS, SEVERITIES, SOURCES, ComparedValue, RuleAction, RuleBody, RuleTargets


class RecordedAction(RuleAction):
    target = text(1, 255, null=True, default=None)


class RuleRecord(RuleBody):
    id = text()
    source = choice("default", "yaml", "api")
    created_at = whole()
    updated_at = whole()
    action = field(RecordedAction, null=True)
    targets = field(RuleTargets, null=True)
    settle_s = number(null=True)
    verify_timeout_s = number(null=True)
    unreadable = text(optional=True)


class Status(Body):
    status = text()


class LedgerRecord(Body):
    id = whole()
    case_id = text(null=True)
    correlation_key = text()
    rule_id = text()
    condition = text()
    target = text()
    action_type = text()
    action_params = text()
    escalation_step = whole()
    action_success = whole(0, 1)
    verified = whole(0, 1)
    duration_s = number()
    trust_level = text()
    source = text()
    created_at = whole()
    state = text()
    outcome = text(null=True)
    events = whole()
    reason = text()
    risk = text(null=True)
    approval_id = text(null=True)
    snapshot_id = text(null=True)
    rollback_status = text(null=True)
    rolls_back = whole(null=True)
    metrics_before = map_of(scalar(), null=True)
    metrics_after = map_of(scalar(), null=True)
    finished_at = whole(null=True)
    prev_hash = text(null=True)
    hash = text(null=True)


class ChainVerdict(Body):
    valid = flag()
    entries = whole()
    first_bad = whole(null=True)
    reason = text(optional=True)


class Effectiveness(Body):
    action_type = text()
    condition = text()
    total = whole()
    verified = whole()
    failed = whole()
    success_rate = number(null=True)
    lower_bound = number(null=True)


class SuggestionAbout(Body):
    """A dependency that may be declared, or the metric of a host that is about to run short."""

    target = text(optional=True)
    depends_on = text(optional=True)
    support = number(optional=True)
    confidence = number(optional=True)
    lift = number(optional=True)
    parent_first = number(optional=True)
    sure = flag(optional=True)
    agent_id = text(optional=True)
    metric = text(optional=True)


class SuggestionRecord(Body):
    id = whole()
    category = text()
    severity = text()
    message = text()
    rule_id = text()
    dismissed = whole(0, 1)
    created_at = whole()
    about = field(SuggestionAbout, optional=True)


class Success(Body):
    success = flag()


class TrustEvidence(Body):
    triggers_7d = whole(0)
    executions = whole(0)
    verified = whole(0)
    failed = whole(0)
    sequential_bound = number()
    cusum = number()
    cusum_threshold = number()


class TrustRecord(Body):
    rule_id = text()
    current_level = choice(*LEVELS)
    ceiling = choice(*LEVELS)
    promoted_at = whole(null=True)
    demoted_at = whole(null=True)
    promotion_count = whole()
    demotion_count = whole()
    last_evaluated = whole()
    evidence = TrustEvidence()
    needs = list_of(text())


class NewLevel(Body):
    success = flag()
    rule_id = text()
    new_level = choice(*LEVELS)


class DependencyNode(Body):
    target = text()
    type = text()
    site = text(null=True)
    depends_on = list_of(text())
    status = choice("failed", "ok", "unknown")
    source = text()


class DependencyEdge(Body):
    child = text(name="from")
    parent = text(name="to")


class DependencyGraph(Body):
    nodes = list_of(DependencyNode, 10_000)
    edges = list_of(DependencyEdge, 100_000)
    root_causes = list_of(text(), 10_000)


class DependencyMistake(Body):
    target = text()
    error = text()


class Validation(Body):
    valid = flag()
    errors = list_of(DependencyMistake, 10_000)


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


class WorkerState(Body):
    name = text()
    late_s = number(null=True)
    errors = whole(0)
    last_error = text(null=True)


class Health(Body):
    status = choice("Active", "Paused", "Degraded")
    reasons = list_of(text())
    components = list_of(WorkerState)
    queue_depth = whole()
    active_heals = whole()
    last_event_at = whole(null=True)


class ScenarioRecord(Body):
    name = text()
    description = text()
    inject = text()


class Expectation(Body):
    check = text()
    expected = anything()
    actual = anything()
    passed = flag()


class ChaosResult(Body):
    name = text()
    dry_run = flag()
    settings = choice("live", "default")
    status = choice("passed", "failed")
    started_at = whole()
    duration_s = number()
    expectations = list_of(Expectation)
    notes = list_of(text())


class ForecastRecord(Body):
    agent_id = text()
    metric = text()
    mount = text(null=True)
    now = number()
    threshold = number()
    hits_at = whole(null=True)
    low = whole(null=True)
    high = whole(null=True)
    coverage = number(0, 1)


class ReplayDifference(Body):
    event = map_of(anything())
    then = text()
    then_action = text(null=True)
    would = text()
    would_action = text(null=True)
    ledger_id = whole()
    events = whole()


class Replayed(Body):
    events = whole()
    same = whole()
    differences = list_of(ReplayDifference, 100_000)


class CaseRecord(Body):
    id = text()
    target = text()
    rule_id = text()
    state = text()
    outcome = text(null=True)
    step = whole()
    events = map_of(whole())
    opened_at = whole()
    closed_at = whole(null=True)
    why = list_of(text())


class RolledBack(Body):
    ledger_id = whole()
    rolls_back = whole()
    outcome = text()
    rollback_status = text()
    reason = text()


class CapabilityRecord(Body):
    hostname = text()
    manifest = map_of(anything())
    probed_at = whole(null=True)
    degraded_capabilities = list_of(text())


class Queued(Body):
    status = choice("queued")
    command_id = text()


class ActionHandler(Body):
    tools = list_of(text())
    steps = list_of(list_of(text()))
    when = text(null=True)


class ActionRecord(Body):
    name = text()
    risk = choice("low", "medium", "high")
    where = choice("host", "server")
    reversible = flag()
    implemented = flag()
    timeout = whole()
    settle_s = number()
    armed_s = number(null=True)
    params = map_of(map_of(anything()))
    target_param = text(null=True)
    either = list_of(text())
    snapshot = text(null=True)
    handlers = list_of(ActionHandler)
