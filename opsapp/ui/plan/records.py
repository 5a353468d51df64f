"""What healing did and how far it is trusted: cases, the ledger, suggestions, forecasts, trust."""

from __future__ import annotations

from opsapp.ui import parts
from opsapp.ui.questions import Call, Draft
from opsapp.ui.shapes import beforeafter, case, learned, ledger

from .shape import Act, Field, Page, PageBlock, Part, told

OUTCOMES = (
    "verified", "failed", "rolled_back", "inconclusive", "lost", "notified", "suppressed", "absorbed", "observed",
    "simulated", "rejected", "expired", "withdrawn", "skipped",
)  # fmt: skip
ROLL_BACK = Act(
    "rollback",
    "Roll back",
    "POST /api/healing/rollback/{id}",
    when={"state": ("final",), "action_success": (1,), "rolls_back": (None,), "rollback_status": (None,)},
    grave=True,
    warns="The state that was recorded before the act is restored on the host. It is written to the ledger as a heal "
    "of its own.",
)
ACT_NOW = Act("act_now", "Act now", "POST /api/healing/cases/{id}/act-now", done="It waits no longer.")
PROMOTE = Act(
    "promote",
    "Promote",
    "POST /api/healing/trust/{rule_id}/promote",
    (Field("level", "To", "choice", learned.LEVELS, True, above="current_level", upto="ceiling"),),
)
DEMOTE = Act(
    "demote",
    "Demote",
    "POST /api/healing/trust/{rule_id}/demote",
    (Field("level", "To", "choice", learned.LEVELS, True, below="current_level"),),
    grave=True,
)
CONFIRM = Act(
    "confirm",
    "Add the dependency",
    "POST /api/healing/suggestions/{id}/confirm",
    when={"category": ("dependency_candidate",)},
)
TAKE_OUT = CONFIRM._replace(name="take_out", label="Remove the dependency", when={"category": ("dependency_doubt",)})
DISMISS = Act("dismiss", "Dismiss", "POST /api/healing/suggestions/{id}/dismiss")
TRUST = Part("Rules", "/api/healing/trust", name=parts.TRUST, paged=True, rows=25, acts=(PROMOTE, DEMOTE))

RECORDS = (
    Page(
        "/healing/cases/{case_id}",
        "Why",
        (
            told(parts.CASE, "/api/healing/cases/{case_id}", acts=(ROLL_BACK, ACT_NOW)),
            told(parts.TRUST, "/api/healing/trust"),
            told(parts.HOST_POINTS, "/api/agents/{case.agent_id}/metrics", asks=beforeafter.asked_by_case),
            told(
                parts.MONITOR_POINTS,
                "/api/monitoring/endpoints/{case.monitor_id}/history",
                asks=beforeafter.asked_by_case,
            ),
            told(parts.COMMAND, "/api/agents/{case.act.host}/commands/{case.act.command_id}", optional=True),
        ),
        template="case.jinja2",
        shape=case.shape,
        draft=Draft(case.questions, apis=(Call("What if now", "POST /api/healing/dry-run"),)),
    ),
    Page(
        "/healing/ledger",
        "Ledger",
        (
            Part(
                "Every outcome, newest first",
                "/api/healing/ledger",
                paged=True,
                name=parts.LEDGER,
                filters=(
                    Field("rule_id", "Rule", "name", of="rule", unsaid="any"),
                    Field("target", "Target"),
                    Field("outcome", "Outcome", "choice", OUTCOMES),
                    Field("action_type", "Action"),
                    Field("within", "Time", "choice", ("24h", "7d", "30d")),
                ),
            ),
            told(parts.CHECK, "/api/healing/ledger/last-check"),
        ),
        forms=(Act("verify", "Check the chain", "GET /api/healing/ledger/verify", done="Every entry was read."),),
        menu="Ledger",
        template="ledger.jinja2",
        calls=(Call("CSV", "GET /api/healing/ledger/file"),),
        shape=ledger.shape,
        blocks=(PageBlock("rows", (parts.LEDGER,), ledger.rows),),
    ),
    Page(
        "/healing/suggestions",
        "Suggestions",
        (
            Part(
                "Suggestions",
                "/api/healing/suggestions",
                name=parts.SUGGESTIONS,
                paged=True,
                filters=(
                    Field("category", "About", "choice", tuple(learned.CATEGORIES)),
                    Field("rule_id", "Rule", "name", of="rule", unsaid="any"),
                    Field("sort", "Sort by"),
                ),
                acts=(CONFIRM, TAKE_OUT, DISMISS._replace(many=True)),
            ),
        ),
        menu="Suggestions",
        template="suggestions.jinja2",
        shape=learned.suggestions,
    ),
    Page(
        "/healing/forecasts",
        "Forecasts",
        (
            told(parts.FORECASTS, "/api/healing/forecasts"),
            told(parts.AGENTS, "/api/agents", asks=learned.hosts_of_forecasts),
            told(parts.OFFLINE, "/api/agents?status=offline&limit=100"),
            told(parts.DEAD, "/api/agents?status=dead&limit=100"),
        ),
        menu="Forecasts",
        template="forecasts.jinja2",
        shape=learned.forecasts,
    ),
    Page("/healing/trust", "Trust", (TRUST,), menu="Trust", template="trust.jinja2", shape=learned.trust),
)
