"""Agents, automations, approvals, windows, notifications."""

from __future__ import annotations

from .shape import Act, Column, Field, Page, Part

RUN_COLUMNS = (
    Column("Run", "run_id", "code", "/automations/runs/{run_id}"),
    Column("Automation", "name", link="/automations/{automation_id}"),
    Column("Status", "status", "state"),
    Column("Origin", "origin"),
    Column("Started", "started", "time"),
    Column("Finished", "finished", "time"),
    Column("Reason", "reason"),
)
CANCEL = Act(
    "cancel",
    "Cancel",
    "POST /api/automations/runs/{run_id}/cancel",
    when=(("status", ("queued", "running", "pending_approval")),),
    grave=True,
)
RUN = Act("run", "Run now", "POST /api/automations/{id}/run", inputs="inputs")
RUN_PLAIN = RUN._replace(when=(("inputs", ([],)),), inputs="")  # one with inputs is run on its own page
COMMENT = (Field("comment", "Comment"),)
UNDECIDED = (("status", ("pending",)),)

AGENTS = (
    Page(
        "/agents",
        "Agents",
        (
            Part(
                "All agents",
                "/api/agents",
                (
                    Column("Label", "label", link="/agents/{id}"),
                    Column("Hostname", "hostname"),
                    Column("Status", "status", "state"),
                    Column("System", "os"),
                    Column("Address", "ip", "code"),
                    Column("Version", "version"),
                    Column("Last seen", "last_seen", "time"),
                    Column("Tags", "tags"),
                ),
                empty="There are no agents.",
                paged=True,
                filters=(Field("q", "Name"), Field("tag", "Tag")),
            ),
        ),
        forms=(
            Act(
                "create",
                "Add an agent",
                "POST /api/agents",
                (Field("label", "Label", required=True), Field("tags", "Tags (a, b)", "list")),
                shows=True,
                then="The key is shown this once. On the host, as root:",
                command="printf 'X-Agent-Key: {key}' | curl -fsS -H @- {server}/api/agents/install-script | sh",
            ),
        ),
        menu="Agents",
    ),
    Page(
        "/agents/{id}",
        "Agent",
        (
            Part(
                "State",
                "/api/agents/{id}",
                (
                    Column("Label", "label"),
                    Column("Hostname", "hostname"),
                    Column("Status", "status", "state"),
                    Column("Connected", "connected"),
                    Column("System", "os"),
                    Column("Address", "ip", "code"),
                    Column("Version", "version"),
                    Column("Last seen", "last_seen", "time"),
                    Column("Tags", "tags"),
                    Column("Metrics of", "metrics_at", "time"),
                    Column("CPU", "metrics.cpu_percent", "percent"),
                    Column("Memory", "metrics.mem_percent", "percent"),
                    Column("Disk", "metrics.disk_percent", "percent"),
                    Column("Up (s)", "metrics.uptime_s"),
                ),
                facts=True,
                acts=(
                    Act(
                        "shell",
                        "Run a command",
                        "POST /api/agents/{id}/commands",
                        (Field("params.command", "Command", required=True),),
                        body=(("type", "shell"),),
                    ),
                ),
            ),
            Part(
                "Commands",
                "/api/agents/{id}/commands",
                (
                    Column("Command", "command_id", "code"),
                    Column("Type", "type"),
                    Column("Status", "status", "state"),
                    Column("Exit code", "exit_code"),
                    Column("Asked by", "requested_by"),
                    Column("When", "created_at", "time"),
                    Column("Output", "output", "code"),
                ),
                empty="None was asked for.",
            ),
        ),
    ),
)

AUTOMATIONS = (
    Page(
        "/automations",
        "Automations",
        (
            Part(
                "All automations",
                "/api/automations",
                (
                    Column("Name", "name", link="/automations/{id}"),
                    Column("Type", "type"),
                    Column("Enabled", "enabled"),
                    Column("Schedule", "schedule", "code"),
                    Column("Next run", "next_run", "time"),
                    Column("Last run", "last_run", "time"),
                    Column("Last status", "last_status", "state"),
                ),
                empty="There are no automations.",
                acts=(RUN_PLAIN,),
            ),
            Part("Runs", "/api/automations/runs", RUN_COLUMNS, empty="Nothing has run.", paged=True, acts=(CANCEL,)),
            Part(
                "Templates",
                "/api/automations/templates",
                (Column("Name", "name"), Column("Type", "type"), Column("What it does", "description")),
                acts=(Act("apply", "Make one of it", "POST /api/automations/templates/{id}/apply"),),
            ),
        ),
        forms=(
            Act(
                "create",
                "Add a script",
                "POST /api/automations",
                (
                    Field("name", "Name", required=True),
                    Field("params.script", "Script", "area", required=True),
                    Field("schedule", "Schedule (cron)"),
                ),
                body=(("type", "script"),),
            ),
        ),
        menu="Automations",
    ),
    Page(
        "/automations/runs/{run_id}",
        "Run",
        (
            Part(
                "State",
                "/api/automations/runs/{run_id}",
                (
                    *RUN_COLUMNS,
                    Column("Asked for by", "requested_by"),
                    Column("Exit code", "exit_code"),
                    Column("Output", "output", "code"),
                ),
                facts=True,
                acts=(CANCEL,),
            ),
        ),
    ),
    Page(
        "/automations/{id}",
        "Automation",
        (
            Part(
                "Definition",
                "/api/automations/{id}",
                (
                    Column("Name", "name"),
                    Column("Description", "description"),
                    Column("Type", "type"),
                    Column("Enabled", "enabled"),
                    Column("Schedule", "schedule", "code"),
                    Column("Time zone", "timezone"),
                    Column("Next run", "next_run", "time"),
                    Column("Parameters", "params"),
                    Column("Inputs", "inputs"),
                    Column("Needs an approval", "requires_approval"),
                    Column("Approvers", "approvers"),
                    Column("When one runs already", "concurrency"),
                ),
                facts=True,
                acts=(
                    RUN,
                    Act(
                        "token",
                        "New webhook token",
                        "POST /api/automations/{id}/webhook-token",
                        shows=True,
                        then="The token is shown this once; the old one is refused from now on.",
                    ),
                    Act(
                        "disable",
                        "Disable",
                        "PUT /api/automations/{id}",
                        when=(("enabled", (True,)),),
                        body=(("enabled", False),),
                    ),
                    Act(
                        "enable",
                        "Enable",
                        "PUT /api/automations/{id}",
                        when=(("enabled", (False,)),),
                        body=(("enabled", True),),
                    ),
                ),
            ),
            Part("Runs", "/api/automations/{id}/runs", RUN_COLUMNS, empty="None.", paged=True, acts=(CANCEL,)),
        ),
    ),
)

DECIDING = (
    Page(
        "/approvals",
        "Approvals",
        (
            Part(
                "To be decided",
                "/api/approvals",
                (
                    Column("What", "subject"),
                    Column("Kind", "kind"),
                    Column("Risk", "risk", "state"),
                    Column("Plan", "plan"),
                    Column("Why", "reason"),
                    Column("Asked for by", "requested_by"),
                    Column("Status", "status", "state"),
                    Column("Until", "expires_at", "time"),
                ),
                empty="Nothing waits for a decision.",
                paged=True,
                filters=(
                    Field("status", "Status", "choice", ("pending", "approved", "rejected", "expired", "withdrawn")),
                ),
                acts=(
                    Act("approve", "Approve", "POST /api/approvals/{request_id}/approve", COMMENT, UNDECIDED),
                    Act("reject", "Reject", "POST /api/approvals/{request_id}/reject", COMMENT, UNDECIDED, grave=True),
                ),
            ),
        ),
        menu="Approvals",
    ),
    Page(
        "/maintenance",
        "Maintenance",
        (
            Part(
                "Windows",
                "/api/maintenance",
                (
                    Column("Name", "name"),
                    Column("Active", "active"),
                    Column("Start", "start"),
                    Column("End", "end"),
                    Column("Repeats", "recurring", "code"),
                    Column("Next start", "next_start", "time"),
                    Column("Healing", "autonomy_override"),
                    Column("Scope", "scope"),
                ),
                empty="There are no windows.",
                acts=(
                    Act("activate", "Begin now", "POST /api/maintenance/{id}/activate", when=(("active", (False,)),)),
                    Act("deactivate", "End now", "POST /api/maintenance/{id}/deactivate", when=(("active", (True,)),)),
                    Act("delete", "Delete", "DELETE /api/maintenance/{id}", grave=True),
                ),
            ),
        ),
        forms=(
            Act(
                "create",
                "Add a window",
                "POST /api/maintenance",
                (
                    Field("name", "Name", required=True),
                    Field("start", "Start (2026-01-31T22:00)", required=True),
                    Field("end", "End", required=True),
                    Field("recurring", "Repeats (cron)"),
                    Field("scope", "Covers (ids of monitors and agents; none: everything)", "list"),
                    Field("autonomy_override", "Healing", "choice", ("disabled", "notify", "approve", "execute"), True),
                ),
            ),
        ),
        menu="Maintenance",
    ),
    Page(
        "/notifications",
        "Notifications",
        (
            Part(
                "Channels",
                "/api/notifications/channels",
                (
                    Column("Name", "name"),
                    Column("Service", "service"),
                    Column("Enabled", "enabled"),
                    Column("Severities", "severities"),
                    Column("Tags", "tags"),
                    Column("Last sent", "last_sent_at", "time"),
                    Column("Last failed", "last_failed_at", "time"),
                    Column("Why", "last_error"),
                ),
                empty="There are no channels: nobody is told anything.",
                acts=(
                    Act("test", "Send a test", "POST /api/notifications/channels/{id}/test"),
                    Act("delete", "Delete", "DELETE /api/notifications/channels/{id}", grave=True),
                ),
            ),
            Part(
                "Deliveries",
                "/api/notifications/deliveries",
                (
                    Column("Channel", "channel"),
                    Column("Status", "status", "state"),
                    Column("Kind", "kind"),
                    Column("Attempts", "attempts"),
                    Column("Error", "error"),
                    Column("When", "created_at", "time"),
                ),
                empty="Nothing was sent.",
                paged=True,
            ),
        ),
        forms=(
            Act(
                "create",
                "Add a channel",
                "POST /api/notifications/channels",
                (Field("name", "Name", required=True), Field("url", "Apprise address", "password", required=True)),
            ),
        ),
        menu="Notifications",
    ),
)

OPERATIONS = AGENTS + AUTOMATIONS + DECIDING
