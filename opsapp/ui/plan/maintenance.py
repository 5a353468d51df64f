"""Maintenance windows: the list with its calendar, and a page to plan or change one."""

from __future__ import annotations

from opsapp.maintenance.records import HealingWindowRecord, WindowRecord
from opsapp.ui import parts
from opsapp.ui.shapes import maintenance as shapes

from .shape import Act, Page, PageBlock, Part, inputs

WINDOW = inputs(WindowRecord)
MONITORS = Part("Monitors", f"/api/monitoring/endpoints?limit={shapes.LISTED}", (), name=parts.MONITORS, hidden=True)
HOSTS = Part("Hosts", f"/api/agents?limit={shapes.LISTED}", (), name=parts.AGENTS, hidden=True)
OWN = Part("You", "/api/me/settings", (), name=parts.OWN, hidden=True)
COVERAGE = (
    Part("Everything", "/api/maintenance/coverage", (), name=parts.EVERYTHING, hidden=True),
    Part("Covered", "/api/maintenance/coverage", (), name=parts.COVERED, hidden=True, asks=shapes.covers_asked),
)
COVERED = (PageBlock("covered", ("covered",), shapes.covered),)  # what the script asks for, as it is chosen
MAKING = (
    Act("create", "Plan the window", "POST /api/maintenance", WINDOW, goes="/maintenance/{id}", here=True),
    Act("preview", "Show next times", "POST /api/maintenance/preview", WINDOW, tries=True, here=True),
)

MAINTENANCE = (
    Page(
        "/maintenance",
        "Maintenance",
        (
            Part(
                "Windows",
                "/api/maintenance",
                (),
                name=parts.WINDOWS,
                acts=(
                    Act("activate", "Start now", "POST /api/maintenance/{id}/activate", when=(("active", (False,)),)),
                    Act("deactivate", "End now", "POST /api/maintenance/{id}/deactivate", when=(("active", (True,)),)),
                ),
            ),
            Part(
                "Calendar",
                "/api/maintenance/calendar",
                (),
                name=parts.CALENDAR,
                hidden=True,
                asks=shapes.month_asked,
            ),
            Part("Healing windows", "/api/healing/maintenance", (), name=parts.HELD, hidden=True, optional=True,
                 acts=(Act("end", "End now", "DELETE /api/healing/maintenance/{id}"),)),
            MONITORS,
            HOSTS,
            OWN,
        ),
        forms=(
            Act(
                "quieten",
                "Pause healing for a target",
                "POST /api/healing/maintenance",
                inputs(HealingWindowRecord),
            ),
        ),
        menu="Maintenance",
        template="maintenance.jinja2",
        shape=shapes.windows,
    ),
    Page(
        "/maintenance/new",
        "Plan a window",
        (MONITORS, HOSTS, OWN, *COVERAGE),
        forms=MAKING,
        template="window.jinja2",
        shape=shapes.new_window,
        blocks=COVERED,
        needs="POST /api/maintenance",
    ),
    Page(
        "/maintenance/{id}/clone",
        "Clone",
        (
            Part("Window", "/api/maintenance/{id}", (), name=parts.STORED_WINDOW, hidden=True),
            MONITORS,
            HOSTS,
            OWN,
            *COVERAGE,
        ),
        forms=MAKING,
        template="window.jinja2",
        shape=shapes.cloned,
        blocks=COVERED,
        needs="POST /api/maintenance",
    ),
    Page(
        "/maintenance/{id}",
        "Window",
        (
            Part(
                "Window",
                "/api/maintenance/{id}",
                (),
                name=parts.WINDOW,
                facts=True,
                acts=(
                    Act("save", "Save", "PUT /api/maintenance/{id}", WINDOW, here=True, done="Saved."),
                    Act("preview", "Show next times", "POST /api/maintenance/preview", WINDOW, tries=True, here=True),
                    Act("activate", "Start now", "POST /api/maintenance/{id}/activate", when=(("active", (False,)),)),
                    Act("deactivate", "End now", "POST /api/maintenance/{id}/deactivate", when=(("active", (True,)),)),
                    Act("disable", "Disable", "PUT /api/maintenance/{id}", when=(("enabled", (True,)),),
                        body=(("enabled", False),)),
                    Act("enable", "Enable", "PUT /api/maintenance/{id}", when=(("enabled", (False,)),),
                        body=(("enabled", True),)),
                    Act("delete", "Delete", "DELETE /api/maintenance/{id}", grave=True, goes="/maintenance"),
                ),
            ),
            Part("Calendar", "/api/maintenance/calendar", (), name=parts.CALENDAR, hidden=True, asks=shapes.next_asked),
            MONITORS,
            HOSTS,
            OWN,
            *COVERAGE,
        ),
        template="window.jinja2",
        shape=shapes.one_window,
        blocks=COVERED,
    ),
)  # fmt: skip
