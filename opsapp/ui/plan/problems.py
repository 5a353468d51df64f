"""Pages of problems: what is healed again and again, and who looks for the cause until when."""

from __future__ import annotations

from opsapp.ui import parts
from opsapp.ui.shapes import problems

from .shape import Act, Field, Page, Part, save, told

STATES = ("open", "accepted", "closed")
CHANGE = "PUT /api/healing/problems/{id}"
FIELDS = (
    Field("state", "State", "choice", STATES, True, hint="Accepted: it is known, and is not mended now"),
    Field("owner", "Assignee", "name", of="user", by="username", clears=True, unsaid="nobody"),
    Field(
        "due",
        "Until when",
        "date",
        clears=True,
        hint="After that day its rule asks people before it acts on this target",
    ),
    Field("note", "Description", "area"),
)
TAKE = Act(
    "take",
    "I take it",
    CHANGE,
    when={"owner": (None,), "state": ("open", "accepted")},
    body={"owner": "{me}"},
    done="It is assigned to you.",
)


def about(query: str) -> Part:
    return told(parts.PROBLEMS, f"/api/healing/problems?{query}&limit=20", optional=True)


PROBLEMS = (
    Page(
        "/healing/problems",
        "Problems",
        (
            Part(
                "Problems",
                "/api/healing/problems",
                name=parts.PROBLEMS,
                paged=True,
                filters=(
                    Field("state", "State", "choice", STATES),
                    Field("owner", "Assignee"),
                    Field("rule_id", "Rule", "name", of="rule", unsaid="any"),
                    Field("target", "Target"),
                ),
                acts=(TAKE,),
            ),
        ),
        menu="Problems",
        template="problems.jinja2",
        shape=problems.listing,
    ),
    Page(
        "/healing/problems/{id}",
        "Problem",
        (
            told(
                parts.PROBLEM,
                "/api/healing/problems/{id}",
                acts=(
                    TAKE,
                    save(CHANGE, FIELDS, "change", done="It is saved."),
                ),
            ),
            told(parts.LEDGER, "/api/healing/ledger?rule_id={problem.rule_id}&target={problem.target}&limit=20"),
        ),
        template="recurring.jinja2",
        shape=problems.single,
    ),
)  # fmt: skip
