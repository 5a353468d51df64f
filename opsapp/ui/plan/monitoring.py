"""Monitors and incidents."""

from __future__ import annotations

from opsapp.monitoring.engine import STATUSES
from opsapp.wire import monitortypes

from .shape import Act, Column, Field, Page, Part

OWN_FIELDS = tuple(
    Field(setting.name, f"{setting.label} (type {' or '.join(types)})", setting.kind, hint=setting.hint)
    for setting, types in monitortypes.settings_by_types()
)
INCIDENT = (
    Column("Monitor", "monitor_name", link="/monitors/{monitor_id}"),
    Column("Status", "status", "state"),
    Column("Cause", "cause"),
    Column("Started", "started", "time"),
    Column("Resolved", "resolved", "time"),
    Column("Minutes", "duration_minutes"),
    Column("Acknowledged by", "acknowledged_by"),
)
INCIDENTS_COLUMNS = tuple(
    column._replace(link="/incidents/{id}") if column.field == "cause" else column for column in INCIDENT
)
WAR_ROOM = "/api/monitoring/incidents/{id}/war-room"

MONITORS = (
    Page(
        "/monitors",
        "Monitors",
        (
            Part(
                "All monitors",
                "/api/monitoring/endpoints",
                (
                    Column("Name", "name", link="/monitors/{id}"),
                    Column("Status", "status", "state"),
                    Column("Type", "type"),
                    Column("Response (ms)", "response_time_ms"),
                    Column("Uptime 24 h", "uptime_24h", "percent"),
                    Column("Last check", "last_check", "time"),
                    Column("Tags", "tags"),
                ),
                empty="There are no monitors.",
                paged=True,
                filters=(Field("q", "Name"), Field("status", "Status", "choice", STATUSES), Field("tag", "Tag")),
            ),
            Part(
                "Health",
                "/api/monitoring/health-score",
                (Column("Score", "score"), Column("Grade", "grade"), Column("Unknown", "unknown")),
                facts=True,
            ),
            Part(
                "Last 30 days",
                "/api/monitoring/sla",
                (
                    Column("Name", "name", link="/monitors/{monitor_id}"),
                    Column("Uptime", "uptime_percent", "percent"),
                    Column("Down (min)", "downtime_minutes"),
                    Column("Maintenance (min)", "maintenance_minutes"),
                    Column("Unknown (min)", "unknown_minutes"),
                    Column("Incidents", "incidents"),
                    Column("Mean time to repair (min)", "mttr_minutes"),
                ),
                paged=True,
            ),
        ),
        forms=(
            Act(
                "create",
                "Add a monitor",
                "POST /api/monitoring/endpoints",
                (
                    Field("name", "Name", required=True),
                    Field("type", "Type", "choice", tuple(monitortypes.TYPES), True),
                    Field("url", "Address (none for push)", hint=", ".join(monitortypes.addresses())),
                    *OWN_FIELDS,
                    Field("interval", "Interval (s)", "number"),
                    Field("tags", "Tags (a, b)", "list"),
                ),
            ),
        ),
        menu="Monitors",
    ),
    Page(
        "/monitors/{id}",
        "Monitor",
        (
            Part(
                "State",
                "/api/monitoring/endpoints/{id}",
                (
                    Column("Name", "name"),
                    Column("Status", "status", "state"),
                    Column("Cause", "cause"),
                    Column("Since", "since", "time"),
                    Column("Address", "url", "code"),
                    Column("Push address", "push_url", "code"),
                    Column("Type", "type"),
                    Column("Interval (s)", "interval"),
                    Column("Last check", "last_check", "time"),
                    Column("Response (ms)", "response_time_ms"),
                    Column("Uptime 24 h", "uptime_24h", "percent"),
                    Column("Certificate ends in (days)", "cert_days"),
                    Column("Host", "agent_id", link="/agents/{agent_id}"),
                    Column("Incident", "incident_id", link="/incidents/{incident_id}"),
                    Column("Tags", "tags"),
                ),
                facts=True,
                acts=(
                    Act(
                        "pause",
                        "Pause",
                        "PUT /api/monitoring/endpoints/{id}",
                        when=(("enabled", (True,)),),
                        body=(("enabled", False),),
                    ),
                    Act(
                        "resume",
                        "Resume",
                        "PUT /api/monitoring/endpoints/{id}",
                        when=(("enabled", (False,)),),
                        body=(("enabled", True),),
                    ),
                ),
            ),
            Part(
                "Health",
                "/api/monitoring/endpoints/{id}/health-score",
                (
                    Column("Score", "score"),
                    Column("Grade", "grade"),
                    Column("Uptime", "components.uptime.detail"),
                    Column("Response time", "components.response_time.detail"),
                    Column("Certificate", "components.certificate.detail"),
                ),
                facts=True,
            ),
            Part(
                "The last 24 hours",
                "/api/monitoring/endpoints/{id}/history?resolution=3600",
                (
                    Column("Time", "time", "time"),
                    Column("Status", "status", "state"),
                    Column("Mean (ms)", "response_time_ms"),
                    Column("p95 (ms)", "p95_ms"),
                    Column("Longest (ms)", "max_ms"),
                    Column("Checks", "checks"),
                ),
                empty="Nothing was measured.",
            ),
        ),
    ),
)

INCIDENTS = (
    Page(
        "/incidents",
        "Incidents",
        (
            Part(
                "Newest first",
                "/api/monitoring/incidents",
                INCIDENTS_COLUMNS,
                empty="There were none.",
                paged=True,
                filters=(Field("status", "Status", "choice", ("open", "resolved")),),
            ),
        ),
        menu="Incidents",
    ),
    Page(
        "/incidents/{id}",
        "War room",
        (
            Part(
                "Incident",
                WAR_ROOM,
                INCIDENT,
                pick="incident",
                facts=True,
                acts=(
                    Act(
                        "acknowledge",
                        "Acknowledge",
                        "POST /api/monitoring/incidents/{id}/acknowledge",
                        (Field("note", "Note"),),
                        when=(("status", ("open",)), ("acknowledged_by", (None,))),
                    ),
                    Act(
                        "update",
                        "Add an update",
                        "POST /api/monitoring/incidents/{id}/updates",
                        (
                            Field(
                                "stage",
                                "Stage",
                                "choice",
                                ("investigating", "identified", "monitoring", "resolved"),
                                True,
                            ),
                            Field("message", "Message", required=True),
                        ),
                    ),
                ),
            ),
            Part(
                "Timeline",
                WAR_ROOM,
                (
                    Column("Time", "time", "time"),
                    Column("What", "kind"),
                    Column("In words", "text"),
                    Column("By", "user"),
                ),
                pick="events",
            ),
            Part(
                "Monitor",
                WAR_ROOM,
                (
                    Column("Name", "name", link="/monitors/{id}"),
                    Column("Status", "status", "state"),
                    Column("Address", "url", "code"),
                    Column("Last check", "last_check", "time"),
                ),
                pick="monitor",
                facts=True,
            ),
            Part(
                "Related monitors",
                WAR_ROOM,
                (Column("Name", "name", link="/monitors/{id}"), Column("Status", "status", "state")),
                pick="related_monitors",
                empty="No other monitor shares its tags.",
            ),
            Part(
                "What helped before",
                WAR_ROOM,
                (
                    Column("Automation", "name", link="/automations/{id}"),
                    Column("Runs", "runs"),
                    Column("Action", "action_type"),
                    Column("Condition", "condition", "code"),
                    Column("Heals", "total"),
                    Column("Succeeded", "success_rate", "percent"),
                ),
                pick="suggested_automations",
                empty="Nothing has helped here before.",
            ),
            Part(
                "Depends on",
                WAR_ROOM,
                (Column("Target", "target"), Column("Depends on", "depends_on"), Column("By way of", "path")),
                pick="dependencies",
                empty="Nothing is declared.",
            ),
            Part(
                "Heals",
                WAR_ROOM,
                (
                    Column("Entry", "id"),
                    Column("Action", "action_type"),
                    Column("State", "state"),
                    Column("Outcome", "outcome", "state"),
                    Column("Reason", "reason"),
                    Column("When", "created_at", "time"),
                ),
                pick="heals",
                empty="Nothing was done.",
            ),
        ),
    ),
)
