"""Maintenance windows: the list with its calendar, and a page to plan or change one."""

from __future__ import annotations

from opsapp.maintenance.records import HealingWindowRecord, WindowRecord
from opsapp.ui import parts
from opsapp.ui.shapes import maintenance as shapes

from .shape import Act, Page, PageBlock, delete, inputs, save, switches, told

WINDOW = inputs(WindowRecord)
MONITORS = told(parts.MONITORS, f"/api/monitoring/endpoints?limit={shapes.LISTED}")
HOSTS = told(parts.AGENTS, f"/api/agents?limit={shapes.LISTED}")
OWN = told(parts.OWN, "/api/me/settings")
COVERAGE = (
    told(parts.EVERYTHING, "/api/maintenance/coverage"),
    told(parts.COVERED, "/api/maintenance/coverage", asks=shapes.covers_asked),
)
COVERED = (PageBlock("covered", ("covered",), shapes.covered),)  # what the script asks for, as it is chosen
CHANGE = "PUT /api/maintenance/{id}"
START_AND_END = (
    Act("activate", "Start now", "POST /api/maintenance/{id}/activate", when={"active": (False,)}),
    Act("deactivate", "End now", "POST /api/maintenance/{id}/deactivate", when={"active": (True,)}),
)
PREVIEW = Act("preview", "Show next times", "POST /api/maintenance/preview", WINDOW, tries=True, here=True)
MAKING = (
    Act("create", "Plan the window", "POST /api/maintenance", WINDOW, goes="/maintenance/{id}", here=True),
    PREVIEW,
)

MAINTENANCE = (
    Page(
        "/maintenance",
        "Maintenance",
        (
            told(parts.WINDOWS_PLANNED, "/api/maintenance?state=planned", paged=True),
            told(parts.WINDOWS, "/api/maintenance?state=active", acts=START_AND_END, paged=True, rows=20,
                 begins="offset-now"),
            told(parts.WINDOWS_OFF, "/api/maintenance?state=off", paged=True, rows=20, begins="offset-off"),
            told(parts.WINDOWS_PAST, "/api/maintenance?state=past", paged=True, rows=20, begins="offset-past"),
            told(parts.CALENDAR, "/api/maintenance/calendar", asks=shapes.month_asked),
            told(
                parts.HELD,
                "/api/healing/maintenance",
                optional=True,
                paged=True,
                rows=20,
                begins="offset-held",
                acts=(Act("end", "End now", "DELETE /api/healing/maintenance/{id}"),),
            ),
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
            told(parts.STORED_WINDOW, "/api/maintenance/{id}"),
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
            told(
                parts.WINDOW,
                "/api/maintenance/{id}",
                acts=(
                    save(CHANGE, WINDOW),
                    PREVIEW,
                    *START_AND_END,
                    *switches(CHANGE),
                    delete("/api/maintenance/{id}", goes="/maintenance"),
                ),
            ),
            told(parts.CALENDAR, "/api/maintenance/calendar", asks=shapes.next_asked),
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
