"""Rules: the list and the editor."""

from __future__ import annotations

from opsapp.ui import parts
from opsapp.ui.questions import Call, Draft
from opsapp.ui.shapes import ruledraft, ruleeditor, rulelist

from .problems import about
from .shape import Act, Field, Page, Part, delete, switches, told

KNOWN = (
    told(parts.ACTIONS, "/api/healing/actions?limit=1000"),
    told(parts.READINGS, "/api/healing/readings?limit=1000"),
)
DRY_RUN = "POST /api/healing/dry-run"
DISABLE, ENABLE = switches("PUT /api/healing/rules/{id}")
ASKED = (
    *(Call("Try it", api) for api in ("POST /api/healing/evaluate", DRY_RUN, "POST /api/healing/replay")),
    Call("Try it on the past", "POST /api/healing/whatif"),
)
SAVED = (Call("Save", "POST /api/healing/rules"), Call("Save", "PUT /api/healing/rules/{rule_id}"))
DRAFT = Draft(ruledraft.questions, ruledraft.save, "/healing/rules/{id}", ASKED + SAVED)

RULES = (
    Page(
        "/healing/rules",
        "Rules",
        (
            Part(
                "All rules",
                "/api/healing/rules",
                name=parts.RULES,
                paged=True,
                filters=(Field("q", "Name or condition"), Field("sort", "Sort by")),
                asks=rulelist.list_query,
                acts=(
                    DISABLE._replace(many=True, warns="Its condition is not evaluated any more: it heals nothing."),
                    ENABLE._replace(many=True),
                    delete(
                        "/api/healing/rules/{id}",
                        many=True,
                        warns="The rules and their trust are deleted. Open cases of them end without acting. What they "
                        "did stays in the ledger. A rule that comes with opsapp is better disabled.",
                    ),
                ),
            ),
            told(parts.TRUST, "/api/healing/trust?limit=1000"),
            told(parts.MONITORS, "/api/monitoring/endpoints", asks=rulelist.targets_asked),
            told(parts.AGENTS, "/api/agents", asks=rulelist.targets_asked),
        ),
        menu="Rules",
        template="rules.jinja2",
        shape=rulelist.shape,
    ),
    Page(
        "/healing/rules/new",
        "New rule",
        KNOWN,
        template="rule.jinja2",
        shape=ruleeditor.shape,
        draft=DRAFT,
        needs=DRY_RUN,
    ),
    Page(
        "/healing/rules/{source}/clone",
        "Clone a rule",
        (told(parts.SOURCE, "/api/healing/rules/{source}"), *KNOWN),
        template="rule.jinja2",
        shape=ruleeditor.shape,
        draft=DRAFT,
        needs="POST /api/healing/rules",
    ),
    Page(
        "/healing/rules/{rule_id}",
        "Rule",
        (
            told(
                parts.RULE,
                "/api/healing/rules/{rule_id}",
                acts=(
                    Act(
                        "delete",
                        "Delete the rule",
                        "DELETE /api/healing/rules/{id}",
                        when={"source": ("api",)},
                        grave=True,
                        goes="/healing/rules",
                    ),
                ),
            ),
            *KNOWN,
            told(parts.TRUST, "/api/healing/trust?limit=1000"),
            told(parts.LIFT, "/api/healing/lift?rule_id={rule_id}"),
            told(parts.WAIT, "/api/healing/wait?rule_id={rule_id}"),
            about("rule_id={rule_id}"),
        ),
        template="rule.jinja2",
        shape=ruleeditor.shape,
        draft=DRAFT._replace(goes="/healing/rules/{rule_id}"),
    ),
)
