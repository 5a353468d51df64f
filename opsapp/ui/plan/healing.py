"""Pages of healing: its state, and chaos. `records` and `rules` have the other pages."""

from __future__ import annotations

from opsapp.maintenance.records import HealingWindowRecord
from opsapp.ui import parts
from opsapp.ui.shapes import healing as shapes

from .shape import Act, Column, Field, Page, Part, delete, inputs, told

HEALTH = "/api/healing/health"
INLET_FIELDS = (
    Field("name", "Name", required=True, hint="What sends the events, like Alertmanager"),
    Field("host", "Label that names the host", key="mapping.host", preset="instance"),
    Field("monitor", "Label that names the monitor", key="mapping.monitor", preset="monitor"),
)

HEALING = (
    Page(
        "/healing",
        "Healing",
        (
            told(
                parts.HEALTH,
                HEALTH,
                acts=(
                    Act(
                        "pause",
                        "Pause healing",
                        "POST /api/healing/pause",
                        when={"status": ("Active", "Degraded")},
                        fields=(
                            Field("for", "For how long", "span", hint="Empty: until somebody resumes it"),
                            Field("reason", "Why"),
                        ),
                        grave=True,
                        warns="Nothing is healed until it ends or somebody resumes it: events are recorded, and alerts "
                        "are sent. What is under way is finished.",
                    ),
                    Act("resume", "Resume healing", "POST /api/healing/resume", when={"status": ("Paused",)}),
                ),
            ),
            told(
                parts.HEALING_WINDOWS,
                "/api/healing/maintenance",
                paged=True,
                acts=(
                    Act(
                        "end",
                        "End now",
                        "DELETE /api/healing/maintenance/{id}",
                        grave=True,
                        warns="Healing acts there again at once, as far as its rules may.",
                    ),
                ),
            ),
        ),
        forms=(Act("window", "Pause this target", "POST /api/healing/maintenance", inputs(HealingWindowRecord)),),
        menu="Healing",
        template="healing.jinja2",
        shape=shapes.standing,
    ),
    Page(
        "/healing/chaos",
        "Chaos",
        (
            told(
                parts.SCENARIOS,
                "/api/healing/chaos/scenarios",
                acts=(
                    Act(
                        "rehearse",
                        "Dry run",
                        "POST /api/healing/chaos/run",
                        body={"scenario": "{name}", "dry_run": True},
                        shows=True,
                        result="chaos_result.jinja2",
                    ),
                ),
            ),
        ),
        menu="Chaos",
        template="chaos.jinja2",
        shape=shapes.chaos,
    ),
    Page(
        "/healing/replay",
        "Replay",
        (),
        forms=(
            Act(
                "replay",
                "Replay",
                "POST /api/healing/replay",
                (
                    Field("days", "Days of the past", "number", required=True, preset="7"),
                    Field("rules", "Changed rules (JSON)", "json", hint="A list of whole rules, each with its id"),
                    Field("dependencies", "Or another graph (JSON)", "json", hint="A list of target, type, depends_on"),
                ),
                shows=True,
                result="replay_result.jinja2",
            ),
        ),
        menu="Replay",
        lead="What the recorded events would have led to under other rules or dependencies. Nothing is changed."
        " The editor of a rule tries that one alone.",
    ),
    Page(
        "/healing/inlets",
        "Events from elsewhere",
        (
            told(
                parts.INLETS,
                "/api/healing/inlets",
                paged=True,
                acts=(
                    Act(
                        "change",
                        "Change",
                        "PUT /api/healing/inlets/{id}",
                        INLET_FIELDS,
                        done="Changed. Its address stays the same.",
                    ),
                    delete(
                        "/api/healing/inlets/{id}",
                        warns="Whatever sends events with its address is refused at once, and what it has sent counts "
                        "no more. You can undo it for a minute.",
                        done="Its address is refused from now on.",
                    ),
                ),
            ),
        ),
        forms=(
            Act(
                "create",
                "Add an inlet",
                "POST /api/healing/inlets",
                INLET_FIELDS,
                shows=True,
                result="inlet_made.jinja2",
            ),
        ),
        menu="Inlets",
        template="inlets.jinja2",
        shape=shapes.inlets,
    ),
    Page(
        "/healing/inlets/{inlet_id}",
        "What an inlet sent",
        (
            Part(
                "Events, newest update first",
                "/api/healing/inlets/{inlet_id}/events",
                (
                    Column("Name", "name"),
                    Column("About", "target"),
                    Column("State", "status"),
                    Column("Last update", "told_at", "time"),
                    Column("Became", "became"),
                    Column("Incident", "incident_id", link="/incidents/{incident_id}"),
                    Column("Summary", "summary"),
                ),
                name="events",
                paged=True,
                empty="It has sent nothing in the last day.",
            ),
        ),
        lead="What is about a host or monitor is a reading of it; what is about nothing here is an incident.",
    ),
)
