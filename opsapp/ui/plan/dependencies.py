"""The graph of dependencies as a picture and as a table, and what changes it."""

from __future__ import annotations

from opsapp.ui import parts
from opsapp.ui.shapes import dependencies

from .records import CONFIRM, DISMISS, TAKE_OUT
from .shape import Act, Field, Page, told

EDGE = (
    Field("target", "What depends", required=True, hint="A host, a monitor, or what is on a host: web-1/nginx"),
    Field("depends_on", "On what", required=True, hint="Without it, the first one cannot work."),
)

DEPENDENCIES = (
    Page(
        "/healing/dependencies",
        "Dependencies",
        (
            told(parts.GRAPH, "/api/healing/dependencies"),
            told(
                parts.SUGGESTIONS,
                "/api/healing/suggestions",
                acts=(
                    CONFIRM._replace(label="Add", done="The dependency is added."),
                    TAKE_OUT._replace(label="Remove", done="The dependency is removed."),
                    DISMISS._replace(done="It is not suggested again by the same evidence."),
                ),
            ),
        ),
        forms=(
            Act("add", "Add", "POST /api/healing/dependencies/edges", EDGE, here=True, done="The dependency is added."),
            Act(
                "remove",
                "Remove",
                "DELETE /api/healing/dependencies/edges",
                body={"target": "{target}", "depends_on": "{depends_on}"},
                grave=True,
                done="The dependency is removed.",
            ),
        ),
        menu="Dependencies",
        template="dependencies.jinja2",
        shape=dependencies.shape,
    ),
)
