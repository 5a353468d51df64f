"""Bodies and queries of /api/healing that no record declares."""

from __future__ import annotations

from datetime import date

from opsapp.healing.logic.levels import LEVELS
from opsapp.healing.logic.problems import STATES as PROBLEM_STATES
from opsapp.lib.durations import DurationKind
from opsapp.web.fields import (
    AsOf,
    Body,
    JsonKind,
    Paging,
    Query,
    Whole,
    anything,
    choice,
    field,
    flag,
    list_of,
    map_of,
    order,
    text,
    whole,
)
from opsapp.wire.conditions import MAX_LENGTH

from .logic.eventforms import FIRING, RESOLVED
from .records import LONGEST_S
from .stages.ledger import OUTCOMES


class Date(JsonKind):
    """Epoch seconds, or a day: its end by the service's clock."""

    openapi = {"oneOf": [{"type": "integer", "minimum": 0, "maximum": 10**10}, {"type": "string", "format": "date"}]}

    def problem(self, value):
        if not isinstance(value, str):
            return Whole(0, 10**10).problem(value)
        try:
            day = date.fromisoformat(value)
        except ValueError:
            return "must be a day like 2026-11-30, or epoch seconds"
        return None if 1970 <= day.year <= 2286 else "must be in the years 1970 to 2286"


class PastPage(AsOf, Paging):
    """As it is or was."""


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
    links = whole(0)
    head = text(64, 64)


class KeptHead(Query):
    """`head`: as a morning letter ends with it."""

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
    within = field(DurationKind(LONGEST_S), default=None)


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


class ChaosRun(Body):
    scenario = text(1, 64)
    dry_run = flag()
    settings = choice("live", "default", default="live")


class EventList(Paging):
    limit = whole(1, 1000, default=100)


class SentBody(Body):
    """In the service's own form, or a webhook of Alertmanager (version 4) or Grafana."""

    component = "SentEvents"
    id = text(1, 1000, optional=True)
    status = choice(FIRING, RESOLVED, optional=True)
    target = text(0, 1000, optional=True)
    name = text(1, 1000, optional=True)
    severity = text(0, 1000, optional=True)
    labels = map_of(text(0, 1000), optional=True)
    values = map_of(anything(), optional=True)
    summary = text(0, 4000, optional=True)
    description = text(0, 4000, optional=True)
    links = list_of(text(), optional=True)
    starts_at = anything(optional=True)
    ends_at = anything(optional=True)
    alerts = list_of(anything(), optional=True)
