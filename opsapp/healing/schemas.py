"""Bodies and queries of /api/healing that no record declares (`records`); `answers` has what it answers."""

from __future__ import annotations

from datetime import date

from opsapp.healing.logic.graph import MOST_TARGETS, Dependency
from opsapp.healing.logic.levels import LEVELS, SEVERITIES
from opsapp.healing.logic.problems import STATES as PROBLEM_STATES
from opsapp.healing.whatif import SOURCES, ComparedValue
from opsapp.lib.durations import DurationKind
from opsapp.web.declared import body_of
from opsapp.web.fields import (
    AsOf,
    Body,
    JsonKind,
    Paging,
    Query,
    Whole,
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
from opsapp.wire.conditions import MAX_LENGTH

from .records import LONGEST_S, DeclaredRule, NewRule, RuleTargets, condition_problem
from .stages.ledger import OUTCOMES

DURATION = DurationKind(LONGEST_S)
CONDITION = text(1, MAX_LENGTH, check=condition_problem)


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


def _may_be_text(name: str) -> bool:
    return name.rpartition(".")[2] in ("state", "status") or name.startswith("event.")


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
    within = field(DURATION, default=None)


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


class HealEvent(Body):
    """A metric is a number; only a state (`container.NAME.state`, `monitor.status`) or part of an event is a text."""

    @staticmethod
    def across(sound):
        texts = [name for name, value in sound.get("metrics", {}).items() if isinstance(value, str)]
        return {f"metrics.{name}": "must be a number" for name in texts if not _may_be_text(name)}

    source = choice(*SOURCES, default="test")
    rule_id = text(1, 64)
    condition = field(CONDITION, default=None)
    target = text(1, 1000)
    severity = choice(*SEVERITIES, default=None)
    metrics = map_of(ComparedValue, 1000, default={})


class DryRun(Body):
    """With `rule`, a draft stands in the place of the saved rule of its id."""

    event = HealEvent()
    rule = field(body_of(DeclaredRule), default=None)


class ConditionNow(Body):
    sample = {"condition": "cpu_percent > 90"}
    condition = CONDITION
    targets = field(body_of(RuleTargets), default=None)


class PauseSpan(Body):
    """How long it lasts: `for` so long, or `until` a moment. A pause without either has no end of its own."""

    @staticmethod
    def across(sound):
        both = sound.get("for") is not None and sound.get("until") is not None
        return {"until": "give either for or until"} if both else {}

    span = field(DURATION, name="for", default=None)
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
    rule = field(body_of(NewRule))
    days = number(0.01, 30, default=7)
    since = number(0, 10**10, name="from", default=None)
    until = number(0, 10**10, name="to", default=None)


class Replay(Body):
    days = number(0, 365)
    rules = list_of(body_of(DeclaredRule), 1000, default=None)
    dependencies = list_of(body_of(Dependency), MOST_TARGETS, default=None)
