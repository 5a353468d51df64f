"""The page of dependencies: the graph as a picture and as a table, and what changes it."""

from __future__ import annotations

from opsapp.ui.shapes import dependencies

from .shape import Act, Column, Field, Page, Part

EDGE = (
    Field("target", "What depends", required=True, hint="A host, a monitor, or what is on a host: web-1/nginx"),
    Field("depends_on", "On what", required=True, hint="Without it, the first one cannot work."),
)

DEPENDENCIES = (
    Page(
        "/healing/dependencies",
        "Dependencies",
        (
            Part(
                "Graph", "/api/healing/dependencies", (Column("Root causes", "root_causes"),), facts=True, name="graph"
            ),
            Part(
                "Suggested",
                "/api/healing/suggestions",
                (Column("What", "message"),),
                name="suggestions",
                hidden=True,
                acts=(
                    Act(
                        "confirm",
                        "Add it",
                        "POST /api/healing/suggestions/{id}/confirm",
                        when=(("category", ("dependency_candidate",)),),
                        done="The dependency is added.",
                    ),
                    Act(
                        "take_out",
                        "Take it out",
                        "POST /api/healing/suggestions/{id}/confirm",
                        when=(("category", ("dependency_doubt",)),),
                        done="The dependency is taken out.",
                    ),
                    Act(
                        "dismiss",
                        "It is not so",
                        "POST /api/healing/suggestions/{id}/dismiss",
                        done="It is not suggested again by the same evidence.",
                    ),
                ),
            ),
        ),
        forms=(
            Act(
                "add",
                "Add it",
                "POST /api/healing/dependencies/edges",
                EDGE,
                here=True,
                done="The dependency is added.",
            ),
            Act(
                "remove",
                "Take out",
                "DELETE /api/healing/dependencies/edges",
                body=(("target", "{target}"), ("depends_on", "{depends_on}")),
                grave=True,
                done="The dependency is taken out.",
            ),
        ),
        menu="Dependencies",
        template="dependencies.jinja2",
        shape=dependencies.shape,
    ),
)
