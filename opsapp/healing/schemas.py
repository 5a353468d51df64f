"""Bodies, queries and answers of /api/healing."""

from __future__ import annotations

import colander

from opsapp.healing.logic.soundness import incomplete, wrong_params
from opsapp.lib.durations import seconds
from opsapp.web.fields import (
    Anything,
    AsOf,
    Body,
    Choice,
    Flag,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Paging,
    Query,
    Strict,
    Text,
    Whole,
    check,
)
from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import MAX_LENGTH, ConditionError, parse

LEVELS = ("observation", "dry-run", "notify", "approve", "execute")  # as in `logic`; a test holds all of these equal
SEVERITIES = ("info", "warning", "error", "critical")
SOURCES = ("alert", "prediction", "anomaly", "agent", "chaos", "test")
RULE_READ_ONLY = ("id", "source", "created_at", "updated_at")
LONGEST_S = 30 * 86400


class Duration(Strict):
    """A number of seconds, or a text like `1h30m`."""

    openapi = {"oneOf": [{"type": "number", "minimum": 0, "maximum": LONGEST_S}, {"type": "string"}]}

    def problem(self, cstruct):
        try:
            span = seconds(cstruct)
        except ValueError as problem:
            return str(problem)
        return None if 0 <= span <= LONGEST_S else "must be 0 to 30 days"


def _readable(text: str) -> str | None:
    try:
        parse(text)
    except ConditionError as problem:
        return str(problem)
    return None


Free = MapOf(colander.SchemaNode(Anything()), 50)


class Reading(Strict):
    """What a condition can compare: a number, or a text such as a state."""

    openapi = {"oneOf": [{"type": "number"}, {"type": "string", "maxLength": 1000}]}

    def problem(self, cstruct):
        return (Text(0, 1000) if isinstance(cstruct, str) else Number()).problem(cstruct)


class RuleAction(Body):
    @staticmethod
    def across(sound):
        return wrong_params(sound["type"], sound.get("params") or {}) if "type" in sound else {}

    type = colander.SchemaNode(Choice(*sorted(ACTIONS)))
    target = colander.SchemaNode(Text(1, 255), missing=None)
    params = colander.SchemaNode(Free, missing=colander.drop)


class ChainStep(Body):
    @staticmethod
    def across(sound):
        return wrong_params(sound["action"], sound.get("params") or {}) if "action" in sound else {}

    action = colander.SchemaNode(Choice(*sorted(ACTIONS)))
    params = colander.SchemaNode(Free, missing={})


class RuleTargets(Body):
    agents = colander.SchemaNode(ListOf(Text(1, 255), unique=True), missing=[])
    monitors = colander.SchemaNode(ListOf(Text(1, 255), unique=True), missing=[])


class RuleBody(Body):
    condition = colander.SchemaNode(Text(1, MAX_LENGTH), validator=check(_readable))
    severity = colander.SchemaNode(Choice(*SEVERITIES), missing="warning")
    action = RuleAction(missing=None)
    escalation_chain = colander.SchemaNode(ListOf(ChainStep(), 20), missing=[])
    targets = RuleTargets(missing=None)
    holding = colander.SchemaNode(Duration(), name="for", missing=0)
    settle_s = colander.SchemaNode(Number(0, 3600), missing=None)
    verify_timeout_s = colander.SchemaNode(Number(1, 3600), missing=None)
    cooldown_s = colander.SchemaNode(Number(0, 30 * 86400), missing=300)
    trust_ceiling = colander.SchemaNode(Choice(*LEVELS), missing="execute")
    initial_level = colander.SchemaNode(Choice(*LEVELS[:3]), missing="observation")
    enabled = colander.SchemaNode(Flag(), missing=True)
    description = colander.SchemaNode(Text(0, 1000), missing="")


class NewRule(RuleBody):
    across = staticmethod(incomplete)
    id = colander.SchemaNode(Text(1, 64, pattern="[a-z0-9_-]{1,64}", example="nginx-down"), missing=None)


class DeclaredRule(NewRule):
    """A rule where its id is how it is known: in the YAML file, in a document, in a replay."""

    id = colander.SchemaNode(Text(1, 64, pattern="[a-z0-9_-]{1,64}", example="nginx-down"))


class PastPage(AsOf, Paging):
    """A page of a list, as it is or as it was."""


class RuleRecord(RuleBody):
    id = colander.SchemaNode(Text())
    source = colander.SchemaNode(Choice("default", "yaml", "api"))
    created_at = colander.SchemaNode(Whole())
    updated_at = colander.SchemaNode(Whole())
    action = colander.SchemaNode(Anything())
    targets = colander.SchemaNode(Anything())
    settle_s = colander.SchemaNode(Nullable(Number()))
    verify_timeout_s = colander.SchemaNode(Nullable(Number()))
    unreadable = colander.SchemaNode(Text(), missing=colander.drop)


class Created(Body):
    id = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice("created"))


class Status(Body):
    status = colander.SchemaNode(Text())


class LedgerQuery(Paging):
    limit = colander.SchemaNode(Whole(1, 1000), missing=50)
    rule_id = colander.SchemaNode(Text(1, 64), missing=None)
    target = colander.SchemaNode(Text(1, 1000), missing=None)


class LedgerRecord(Body):
    id = colander.SchemaNode(Whole())
    case_id = colander.SchemaNode(Nullable(Text()))
    correlation_key = colander.SchemaNode(Text())
    rule_id = colander.SchemaNode(Text())
    condition = colander.SchemaNode(Text())
    target = colander.SchemaNode(Text())
    action_type = colander.SchemaNode(Text())
    action_params = colander.SchemaNode(Text())
    escalation_step = colander.SchemaNode(Whole())
    action_success = colander.SchemaNode(Whole(0, 1))
    verified = colander.SchemaNode(Whole(0, 1))
    duration_s = colander.SchemaNode(Number())
    trust_level = colander.SchemaNode(Text())
    source = colander.SchemaNode(Text())
    created_at = colander.SchemaNode(Whole())
    state = colander.SchemaNode(Text())
    outcome = colander.SchemaNode(Nullable(Text()))
    events = colander.SchemaNode(Whole())
    reason = colander.SchemaNode(Text())
    risk = colander.SchemaNode(Nullable(Text()))
    approval_id = colander.SchemaNode(Nullable(Text()))
    snapshot_id = colander.SchemaNode(Nullable(Text()))
    rollback_status = colander.SchemaNode(Nullable(Text()))
    rolls_back = colander.SchemaNode(Nullable(Whole()))
    metrics_before = colander.SchemaNode(Anything())
    metrics_after = colander.SchemaNode(Anything())
    finished_at = colander.SchemaNode(Nullable(Whole()))
    prev_hash = colander.SchemaNode(Nullable(Text()))
    hash = colander.SchemaNode(Nullable(Text()))


class ChainVerdict(Body):
    valid = colander.SchemaNode(Flag())
    entries = colander.SchemaNode(Whole())
    first_bad = colander.SchemaNode(Nullable(Whole()))
    reason = colander.SchemaNode(Text(), missing=colander.drop)


class EffectivenessQuery(Query):
    action_type = colander.SchemaNode(Text(1, 64))
    condition = colander.SchemaNode(Text(1, MAX_LENGTH))
    target = colander.SchemaNode(Text(1, 1000), missing="")


class Effectiveness(Body):
    action_type = colander.SchemaNode(Text())
    condition = colander.SchemaNode(Text())
    total = colander.SchemaNode(Whole())
    verified = colander.SchemaNode(Whole())
    failed = colander.SchemaNode(Whole())
    success_rate = colander.SchemaNode(Nullable(Number()))
    lower_bound = colander.SchemaNode(Nullable(Number()))


class SuggestionRecord(Body):
    id = colander.SchemaNode(Whole())
    category = colander.SchemaNode(Text())
    severity = colander.SchemaNode(Text())
    message = colander.SchemaNode(Text())
    rule_id = colander.SchemaNode(Text())
    dismissed = colander.SchemaNode(Whole(0, 1))
    created_at = colander.SchemaNode(Whole())
    about = colander.SchemaNode(Anything(), missing=colander.drop)


class Success(Body):
    success = colander.SchemaNode(Flag())


class TrustRecord(Body):
    rule_id = colander.SchemaNode(Text())
    current_level = colander.SchemaNode(Choice(*LEVELS))
    ceiling = colander.SchemaNode(Choice(*LEVELS))
    promoted_at = colander.SchemaNode(Nullable(Whole()))
    demoted_at = colander.SchemaNode(Nullable(Whole()))
    promotion_count = colander.SchemaNode(Whole())
    demotion_count = colander.SchemaNode(Whole())
    last_evaluated = colander.SchemaNode(Whole())
    evidence = colander.SchemaNode(Anything())
    needs = colander.SchemaNode(Anything())


class Promotion(Body):
    level = colander.SchemaNode(Choice(*LEVELS[1:]))


class Demotion(Body):
    level = colander.SchemaNode(Choice(*LEVELS), missing="notify")


class NewLevel(Body):
    success = colander.SchemaNode(Flag())
    rule_id = colander.SchemaNode(Text())
    new_level = colander.SchemaNode(Choice(*LEVELS))


class DependencyEntry(Body):
    target = colander.SchemaNode(Text(1, 1000))
    type = colander.SchemaNode(Choice("service", "external", "host", "container", "monitor"), missing="service")
    site = colander.SchemaNode(Text(1, 255), missing=None)
    depends_on = colander.SchemaNode(ListOf(Text(1, 1000), unique=True), missing=[])


class DependencyList(Body):
    dependencies = colander.SchemaNode(ListOf(DependencyEntry(), 5000))


class DependencyGraph(Body):
    nodes = colander.SchemaNode(Anything())
    edges = colander.SchemaNode(Anything())
    root_causes = colander.SchemaNode(Anything())


class Validation(Body):
    valid = colander.SchemaNode(Flag())
    errors = colander.SchemaNode(Anything())


class HealEvent(Body):
    source = colander.SchemaNode(Choice(*SOURCES), missing="test")
    rule_id = colander.SchemaNode(Text(1, 64))
    condition = colander.SchemaNode(Text(1, MAX_LENGTH), validator=check(_readable), missing=None)
    target = colander.SchemaNode(Text(1, 1000))
    severity = colander.SchemaNode(Choice(*SEVERITIES), missing=None)
    metrics = colander.SchemaNode(MapOf(Reading(), 1000), missing={})


class DryRun(Body):
    event = HealEvent()


class Simulated(Body):
    event = colander.SchemaNode(Anything())
    correlation = colander.SchemaNode(Anything())
    dependency = colander.SchemaNode(Anything())
    window = colander.SchemaNode(Anything())
    trust = colander.SchemaNode(Anything())
    action_selection = colander.SchemaNode(Anything())
    pre_flight = colander.SchemaNode(Anything())
    rollback_plan = colander.SchemaNode(Anything())
    would = colander.SchemaNode(
        Choice("execute", "request_approval", "notify", "simulate", "observe", "suppress", "absorb", "nothing")
    )
    why = colander.SchemaNode(Anything())


class Health(Body):
    status = colander.SchemaNode(Choice("Active", "Paused", "Degraded"))
    reasons = colander.SchemaNode(Anything())
    components = colander.SchemaNode(Anything())
    queue_depth = colander.SchemaNode(Whole())
    active_heals = colander.SchemaNode(Whole())
    last_event_at = colander.SchemaNode(Nullable(Whole()))


class ScenarioRecord(Body):
    name = colander.SchemaNode(Text())
    description = colander.SchemaNode(Text())
    inject = colander.SchemaNode(Text())


class ChaosRun(Body):
    scenario = colander.SchemaNode(Text(1, 64))
    dry_run = colander.SchemaNode(Flag())
    settings = colander.SchemaNode(Choice("live", "default"), missing="live")


class ChaosResult(Body):
    name = colander.SchemaNode(Text())
    dry_run = colander.SchemaNode(Flag())
    settings = colander.SchemaNode(Choice("live", "default"))
    status = colander.SchemaNode(Choice("passed", "failed"))
    started_at = colander.SchemaNode(Whole())
    duration_s = colander.SchemaNode(Number())
    expectations = colander.SchemaNode(Anything())
    notes = colander.SchemaNode(ListOf(Text()))


class ForecastRecord(Body):
    agent_id = colander.SchemaNode(Text())
    metric = colander.SchemaNode(Text())
    mount = colander.SchemaNode(Nullable(Text()))
    now = colander.SchemaNode(Number())
    threshold = colander.SchemaNode(Number())
    hits_at = colander.SchemaNode(Nullable(Whole()))
    low = colander.SchemaNode(Nullable(Whole()))
    high = colander.SchemaNode(Nullable(Whole()))
    coverage = colander.SchemaNode(Number(0, 1))


class Replay(Body):
    days = colander.SchemaNode(Number(0, 365))
    rules = colander.SchemaNode(ListOf(DeclaredRule(), 1000), missing=None)
    dependencies = colander.SchemaNode(ListOf(DependencyEntry(), 5000), missing=None)


class Replayed(Body):
    events = colander.SchemaNode(Whole())
    same = colander.SchemaNode(Whole())
    differences = colander.SchemaNode(Anything())


class CaseRecord(Body):
    id = colander.SchemaNode(Text())
    target = colander.SchemaNode(Text())
    rule_id = colander.SchemaNode(Text())
    state = colander.SchemaNode(Text())
    outcome = colander.SchemaNode(Nullable(Text()))
    step = colander.SchemaNode(Whole())
    events = colander.SchemaNode(Anything())
    opened_at = colander.SchemaNode(Whole())
    closed_at = colander.SchemaNode(Nullable(Whole()))
    why = colander.SchemaNode(Anything())


class RolledBack(Body):
    ledger_id = colander.SchemaNode(Whole())
    rolls_back = colander.SchemaNode(Whole())
    outcome = colander.SchemaNode(Text())
    rollback_status = colander.SchemaNode(Text())
    reason = colander.SchemaNode(Text())


class CapabilityRecord(Body):
    hostname = colander.SchemaNode(Text())
    manifest = colander.SchemaNode(Anything())
    probed_at = colander.SchemaNode(Nullable(Whole()))
    degraded_capabilities = colander.SchemaNode(ListOf(Text()))


class Queued(Body):
    status = colander.SchemaNode(Choice("queued"))
    command_id = colander.SchemaNode(Text())


class ActionRecord(Body):
    name = colander.SchemaNode(Text())
    risk = colander.SchemaNode(Choice("low", "medium", "high"))
    where = colander.SchemaNode(Choice("host", "server"))
    reversible = colander.SchemaNode(Flag())
    implemented = colander.SchemaNode(Flag())
    timeout = colander.SchemaNode(Whole())
    settle_s = colander.SchemaNode(Number())
    armed_s = colander.SchemaNode(Nullable(Number()))
    params = colander.SchemaNode(Anything())
    target_param = colander.SchemaNode(Nullable(Text()))
    either = colander.SchemaNode(ListOf(Text()))
    snapshot = colander.SchemaNode(Nullable(Text()))
    handlers = colander.SchemaNode(Anything())
