"""Bodies and queries of /api/healing; `answers` has what it answers."""

from __future__ import annotations

from datetime import date

from opsapp.healing.logic.problems import STATES as PROBLEM_STATES
from opsapp.healing.logic.soundness import incomplete, wrong_params
from opsapp.healing.logic.waves import FIRST, GROWTH, OFF, sizes
from opsapp.lib.durations import seconds
from opsapp.web.fields import (
    AsOf,
    Body,
    JsonKind,
    Number,
    Paging,
    Query,
    Text,
    Whole,
    anything,
    choice,
    field,
    flag,
    list_of,
    map_of,
    number,
    order,
    text,
    whole,
)
from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import MAX_LENGTH, ConditionError, parse

LEVELS = ("observation", "dry-run", "notify", "approve", "execute")  # as in `logic`; a test holds all of these equal
SEVERITIES = ("info", "warning", "error", "critical")
OUTCOMES = (
    "verified", "failed", "inconclusive", "rolled_back", "notified", "suppressed", "absorbed", "observed", "simulated",
    "rejected", "expired", "withdrawn", "skipped", "lost",
)  # fmt: skip
SOURCES = ("alert", "prediction", "anomaly", "agent", "chaos", "test")
LONGEST_S = 30 * 86400
SHORTEST_BUDGET_S = 3600
MOST_TARGETS = 5000  # that a list of dependencies declares


class Duration(JsonKind):
    """A number of seconds, or a text like `1h30m`."""

    openapi = {"oneOf": [{"type": "number", "minimum": 0, "maximum": LONGEST_S}, {"type": "string"}]}

    def problem(self, value):
        try:
            span = seconds(value)
        except ValueError as problem:
            return str(problem)
        return None if 0 <= span <= LONGEST_S else "must be 0 to 30 days"


class Date(JsonKind):
    """A moment in epoch seconds, or a day: the end of it, by the service's clock."""

    openapi = {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 10**10}, {"type": "string", "format": "date"}]}

    def problem(self, value):
        if not isinstance(value, str):
            return Whole(0, 10**10).problem(value)
        try:
            day = date.fromisoformat(value)
        except ValueError:
            return "must be a day like 2026-11-30, or epoch seconds"
        return None if 1970 <= day.year <= 2286 else "must be in the years 1970 to 2286"


def _readable(text: str) -> str | None:
    try:
        parse(text)
    except ConditionError as problem:
        return str(problem)
    return None


def _may_be_text(name: str) -> bool:
    return name.rpartition(".")[2] in ("state", "status") or name.startswith("event.")


Free = map_of(anything(), 50)


class ComparedValue(JsonKind):
    """What a condition can compare: a number, or a text such as a state."""

    openapi = {"oneOf": [{"type": "number"}, {"type": "string", "maxLength": 1000}]}

    def problem(self, value):
        return (Text(0, 1000) if isinstance(value, str) else Number()).problem(value)


class RuleAction(Body):
    @staticmethod
    def across(sound):
        return wrong_params(sound["type"], sound.get("params") or {}) if "type" in sound else {}

    type = choice(*sorted(ACTIONS))
    target = text(1, 255, default=None)
    params = field(Free, optional=True)


class ChainStep(Body):
    @staticmethod
    def across(sound):
        return wrong_params(sound["action"], sound.get("params") or {}) if "action" in sound else {}

    action = choice(*sorted(ACTIONS))
    params = field(Free, default={})


class RuleTargets(Body):
    agents = list_of(text(1, 255), unique=True, default=[])
    monitors = list_of(text(1, 255), unique=True, default=[])


class RuleHoldout(Body):
    share = number(0, 0.5)


class WaveShares(Body):
    first = whole(1, 1000, default=FIRST)
    growth = list_of(number(0.001, 1), 20, 1, default=list(GROWTH))


class Waves(JsonKind):
    """How many of one outage go at once, or `off`, which YAML reads as false."""

    shape = WaveShares()
    default = {"first": FIRST, "growth": list(GROWTH)}
    openapi = {
        "oneOf": [
            {
                "type": "object",
                "properties": {
                    "first": {"type": "integer", "minimum": 1, "maximum": 1000},
                    "growth": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": 20,
                        "items": {"type": "number", "minimum": 0.001, "maximum": 1},
                    },
                },
            },
            {"enum": [OFF, False]},
        ]
    }

    def read(self, value, path, wrong):
        if value is False or value == OFF:
            return OFF
        if not isinstance(value, dict):
            wrong[path] = "must be off, or an object with first and growth"
            return value
        return self.shape.kind.read(value, path, wrong)

    def made(self, value):
        return sizes(value)

    def plain(self, value):
        return {"first": value.first, "growth": list(value.growth)}


class RuleBudget(Body):
    """An error budget: of the availability in percent that the monitors of a target are to have over so long."""

    @staticmethod
    def across(sound):
        short = "window" in sound and seconds(sound["window"]) < SHORTEST_BUDGET_S
        return {"window": "must be at least 1h"} if short else {}

    slo = number(50, 99.999)
    window = field(Duration, default="30d")


class RuleBody(Body):
    sample = {"condition": "cpu_percent > 90"}
    condition = text(1, MAX_LENGTH, check=_readable)
    severity = choice(*SEVERITIES, default="warning")
    action = field(RuleAction, default=None)
    escalation_chain = list_of(ChainStep, 20, default=[])
    targets = field(RuleTargets, default=None)
    holding = field(Duration, name="for", default=0)
    settle_s = number(0, 3600, default=None)
    verify_timeout_s = number(1, 3600, default=None)
    cooldown_s = number(0, 30 * 86400, default=300)
    wait = choice("learned", default=None)
    holdout = field(RuleHoldout, default=None)
    waves = field(Waves, default=None)
    budget = field(RuleBudget, default=None)
    trust_ceiling = choice(*LEVELS, default="execute")
    initial_level = choice(*LEVELS[:3], default="observation")
    enabled = flag(default=True)
    description = text(0, 1000, default="")


class NewRule(RuleBody):
    sample = {**RuleBody.sample, "action": {"type": "restart_service", "params": {"service": "nginx"}}}
    across = incomplete
    id = text(1, 64, pattern="[a-z0-9_-]{1,64}", example="nginx-down", default=None)


class DeclaredRule(NewRule):
    """A rule where its id is how it is known: in the YAML file, in a document, in a replay."""

    id = text(1, 64, pattern="[a-z0-9_-]{1,64}", example="nginx-down")


class PastPage(AsOf, Paging):
    """A page of a list, as it is or as it was."""


class RuleList(PastPage):
    q = text(0, 200, default=None)
    sort = order("id", "severity", "updated_at")


SUGGESTION_CATEGORIES = (
    "recurring_issue",
    "low_effectiveness",
    "dependency_candidate",
    "dependency_doubt",
    "trust_promotion",
    "circuit_breaker",
    "capacity_forecast",
    "anomaly",
)


class SuggestionList(Paging):
    category = choice(*SUGGESTION_CATEGORIES, default=None)
    rule_id = text(1, 64, default=None)
    sort = order("created_at", "severity", "category")


class ForecastQuery(Paging):
    agent_id = text(1, 64, default=None)


class Archived(Body):
    """An archive of the ledger ends with this link."""

    links = whole(0)
    head = text(64, 64)


class KeptHead(Query):
    """`head`: the signed head of the ledger that a morning letter ends with."""

    head = text(
        1, 200, default=None, pattern=r"[0-9]{1,12}\.[0-9a-f]{64}\.([0-9a-f]{64})?", must="be a head as a letter has it"
    )


class LedgerQuery(Paging):
    limit = whole(1, 1000, default=50)
    rule_id = text(1, 64, default=None)
    target = text(1, 1000, default=None)
    outcome = choice(*OUTCOMES, default=None)
    action_type = text(1, 64, default=None)
    since = whole(0, default=None)
    until = whole(0, default=None)
    within = field(Duration, default=None)


class ProblemQuery(Paging):
    state = choice(*PROBLEM_STATES, default=None)
    owner = text(1, 64, default=None)
    rule_id = text(1, 64, default=None)
    target = text(1, 1000, default=None)


class ProblemChange(Body):
    owner = text(1, 64, null=True)
    due = field(Date, null=True)
    note = text(0, 5000)
    state = choice(*PROBLEM_STATES)


class OfRule(Query):
    rule_id = text(1, 64)


class EffectivenessQuery(Query):
    action_type = text(1, 64)
    condition = text(1, MAX_LENGTH)
    target = text(1, 1000, default="")


class Promotion(Body):
    level = choice(*LEVELS[1:])


class Demotion(Body):
    level = choice(*LEVELS, default="notify")


class DependencyEntry(Body):
    target = text(1, 1000)
    type = choice("service", "external", "host", "container", "monitor", default="service")
    site = text(1, 255, default=None)
    depends_on = list_of(text(1, 1000), unique=True, default=[])


class OneDependency(Body):
    target = text(1, 1000)
    depends_on = text(1, 1000)


class DependencyList(Body):
    dependencies = list_of(DependencyEntry, MOST_TARGETS)


class HealEvent(Body):
    """A metric is a number; only a state (`container.NAME.state`, `monitor.status`) or part of an event is a text."""

    @staticmethod
    def across(sound):
        texts = [name for name, value in sound.get("metrics", {}).items() if isinstance(value, str)]
        return {f"metrics.{name}": "must be a number" for name in texts if not _may_be_text(name)}

    source = choice(*SOURCES, default="test")
    rule_id = text(1, 64)
    condition = text(1, MAX_LENGTH, check=_readable, default=None)
    target = text(1, 1000)
    severity = choice(*SEVERITIES, default=None)
    metrics = map_of(ComparedValue, 1000, default={})


class DryRun(Body):
    """With `rule`, a draft stands in the place of the saved rule of its id."""

    event = HealEvent()
    rule = field(DeclaredRule, default=None)


class ConditionNow(Body):
    sample = {"condition": "cpu_percent > 90"}
    condition = text(1, MAX_LENGTH, check=_readable)
    targets = field(RuleTargets, default=None)


class PauseSpan(Body):
    """How long it lasts: `for` so long, or `until` a moment. A pause without either has no end of its own."""

    @staticmethod
    def across(sound):
        both = sound.get("for") is not None and sound.get("until") is not None
        return {"until": "give either for or until"} if both else {}

    span = field(Duration, name="for", default=None)
    until = whole(0, 10**10, default=None)
    reason = text(0, 1000, default="")


class HoldSpan(PauseSpan):
    """What needs an end."""

    sample = {"for": "2h"}

    @staticmethod
    def across(sound):
        ends = [name for name in ("for", "until") if sound.get(name) is not None]
        return {} if len(ends) == 1 else {"for": "give either for or until"}


class ChaosRun(Body):
    scenario = text(1, 64)
    dry_run = flag()
    settings = choice("live", "default", default="live")


class RuleOverPast(Body):
    """A draft, and the time to try it on: so many days before now, or from `from` to `to`."""

    sample = {"rule": NewRule.sample}
    rule = field(NewRule)
    days = number(0.01, 30, default=7)
    since = number(0, 10**10, name="from", default=None)
    until = number(0, 10**10, name="to", default=None)


class Replay(Body):
    days = number(0, 365)
    rules = list_of(DeclaredRule, 1000, default=None)
    dependencies = list_of(DependencyEntry, MOST_TARGETS, default=None)
