"""Healing: how it stands, the ledger, trust, rules, the graph, suggestions, forecasts, chaos, replay."""

from __future__ import annotations

from opsapp.wire.actions import ACTIONS

from .shape import Act, Column, Field, Page, Part

HEALTH = "/api/healing/health"
LEVELS = ("observation", "dry-run", "notify", "approve", "execute")

HEALING = (
    Page(
        "/healing",
        "Healing",
        (
            Part(
                "How it stands",
                HEALTH,
                (
                    Column("Status", "status", "state"),
                    Column("Because", "reasons"),
                    Column("Waiting", "queue_depth"),
                    Column("Under way", "active_heals"),
                    Column("Last event", "last_event_at", "time"),
                ),
                facts=True,
                acts=(
                    Act(
                        "pause",
                        "Pause healing",
                        "POST /api/healing/pause",
                        when=(("status", ("Active", "Degraded")),),
                        grave=True,
                    ),
                    Act("resume", "Resume healing", "POST /api/healing/resume", when=(("status", ("Paused",)),)),
                ),
            ),
            Part(
                "Windows",
                "/api/healing/maintenance",
                (
                    Column("Target", "target"),
                    Column("Action", "action"),
                    Column("Why", "reason"),
                    Column("By", "created_by"),
                    Column("Until", "expires_at", "time"),
                ),
                empty="None is active.",
                acts=(Act("end", "End now", "DELETE /api/healing/maintenance/{id}", grave=True),),
            ),
        ),
        forms=(
            Act(
                "window",
                "Begin a window",
                "POST /api/healing/maintenance",
                (
                    Field("target", "Target, or all", required=True),
                    Field("duration", "How long (2h, 30m)", required=True),
                    Field("action", "Action", "choice", ("suppress", "queue", "notify_only"), True),
                    Field("reason", "Why"),
                ),
            ),
        ),
        menu="Healing",
    ),
    Page(
        "/healing/ledger",
        "Ledger",
        (
            Part(
                "Every outcome, newest first",
                "/api/healing/ledger",
                (
                    Column("Entry", "id"),
                    Column("When", "created_at", "time"),
                    Column("Target", "target"),
                    Column("Rule", "rule_id"),
                    Column("Action", "action_type"),
                    Column("State", "state"),
                    Column("Outcome", "outcome", "state"),
                    Column("Reason", "reason"),
                    Column("Level", "trust_level"),
                    Column("Seconds", "duration_s"),
                    Column("Rolled back", "rollback_status"),
                ),
                paged=True,
                filters=(Field("rule_id", "Rule"), Field("target", "Target")),
                acts=(
                    Act(
                        "rollback",
                        "Roll back",
                        "POST /api/healing/rollback/{id}",
                        when=(("state", ("final",)), ("action_success", (1,)), ("rolls_back", (None,))),
                        grave=True,
                    ),
                ),
            ),
            Part(
                "The chain",
                "/api/healing/ledger/verify",
                (Column("Whole", "valid"), Column("Entries", "entries"), Column("First bad one", "first_bad")),
                facts=True,
            ),
        ),
        menu="Ledger",
    ),
    Page(
        "/healing/trust",
        "Trust",
        (
            Part(
                "What each rule may do",
                "/api/healing/trust",
                (
                    Column("Rule", "rule_id"),
                    Column("Level", "current_level", "state"),
                    Column("Ceiling", "ceiling"),
                    Column("Triggers in 7 days", "evidence.triggers_7d"),
                    Column("Executions", "evidence.executions"),
                    Column("Verified", "evidence.verified"),
                    Column("Failed", "evidence.failed"),
                    Column("Needs", "needs"),
                ),
                acts=(
                    Act(
                        "promote",
                        "Promote",
                        "POST /api/healing/trust/{rule_id}/promote",
                        (Field("level", "To", "choice", LEVELS, True, above="current_level", upto="ceiling"),),
                    ),
                    Act(
                        "demote",
                        "Demote",
                        "POST /api/healing/trust/{rule_id}/demote",
                        (Field("level", "To", "choice", LEVELS, True, below="current_level"),),
                        grave=True,
                    ),
                ),
            ),
        ),
        menu="Trust",
    ),
    Page(
        "/healing/rules",
        "Rules",
        (
            Part(
                "All rules",
                "/api/healing/rules",
                (
                    Column("Rule", "id"),
                    Column("Condition", "condition", "code"),
                    Column("Severity", "severity", "state"),
                    Column("Enabled", "enabled"),
                    Column("Action", "action", "steps"),
                    Column("Steps", "escalation_chain", "steps"),
                    Column("Holds for", "for"),
                    Column("Targets", "targets"),
                    Column("From", "source"),
                ),
                acts=(
                    Act(
                        "disable",
                        "Disable",
                        "PUT /api/healing/rules/{id}",
                        when=(("enabled", (True,)),),
                        body=(("enabled", False),),
                        grave=True,
                    ),
                    Act(
                        "enable",
                        "Enable",
                        "PUT /api/healing/rules/{id}",
                        when=(("enabled", (False,)),),
                        body=(("enabled", True),),
                    ),
                    Act("delete", "Delete", "DELETE /api/healing/rules/{id}", when=(("source", ("api",)),), grave=True),
                ),
            ),
        ),
        forms=(
            Act(
                "create",
                "Add a rule",
                "POST /api/healing/rules",
                (
                    Field("id", "Name (a-z, 0-9, -)"),
                    Field("condition", "Condition (cpu_percent > 90)", required=True),
                    Field("action.type", "Action", "choice", tuple(sorted(ACTIONS)), True),
                    Field(
                        "action.params",
                        "Parameters (JSON)",
                        "json",
                        hint='For example {"service": "nginx"}. What is left out comes from the target of the event.',
                    ),
                    Field("action.target", "Runs on (host; none: the host of the event)"),
                    Field("targets.agents", "Only these agents (ids, names or tag:NAME)", "list"),
                    Field("targets.monitors", "Only these monitors (ids, names or tag:NAME)", "list"),
                    Field("for", "Holds for (60s, 5m)"),
                    Field("severity", "Severity", "choice", ("info", "warning", "error", "critical")),
                    Field("initial_level", "Begins at", "choice", LEVELS[:3]),
                ),
            ),
        ),
        menu="Rules",
    ),
    Page(
        "/healing/dependencies",
        "Dependencies",
        (
            Part(
                "Targets",
                "/api/healing/dependencies",
                (
                    Column("Target", "target"),
                    Column("Type", "type"),
                    Column("Site", "site"),
                    Column("Depends on", "depends_on"),
                    Column("Status", "status", "state"),
                    Column("From", "source"),
                ),
                pick="nodes",
                empty="None are declared.",
            ),
            Part("Root causes now", "/api/healing/dependencies", (Column("Targets", "root_causes"),), facts=True),
        ),
        menu="Dependencies",
    ),
    Page(
        "/healing/suggestions",
        "Suggestions",
        (
            Part(
                "What might be better",
                "/api/healing/suggestions",
                (
                    Column("What", "message"),
                    Column("Kind", "category"),
                    Column("Severity", "severity", "state"),
                    Column("Rule", "rule_id"),
                    Column("When", "created_at", "time"),
                ),
                empty="There is nothing to suggest.",
                acts=(
                    Act(
                        "confirm",
                        "Add the dependency",
                        "POST /api/healing/suggestions/{id}/confirm",
                        when=(("category", ("dependency_candidate",)),),
                    ),
                    Act("dismiss", "Dismiss", "POST /api/healing/suggestions/{id}/dismiss", grave=True),
                ),
            ),
        ),
        menu="Suggestions",
    ),
    Page(
        "/healing/forecasts",
        "Forecasts",
        (
            Part(
                "Where metrics are heading",
                "/api/healing/forecasts",
                (
                    Column("Agent", "agent_id", link="/agents/{agent_id}"),
                    Column("Metric", "metric"),
                    Column("Mount", "mount"),
                    Column("Now", "now"),
                    Column("Threshold", "threshold"),
                    Column("Reached", "hits_at", "time"),
                    Column("Earliest", "low", "time"),
                    Column("Latest", "high", "time"),
                ),
                empty="No metric is heading for its threshold, as far as is known.",
            ),
        ),
        menu="Forecasts",
    ),
    Page(
        "/healing/chaos",
        "Chaos",
        (
            Part(
                "Scenarios",
                "/api/healing/chaos/scenarios",
                (Column("Scenario", "name"), Column("What it shows", "description"), Column("Injects", "inject")),
                acts=(
                    Act(
                        "rehearse",
                        "Dry run",
                        "POST /api/healing/chaos/run",
                        body=(("scenario", "{name}"), ("dry_run", True)),
                        shows=True,
                    ),
                ),
            ),
        ),
        menu="Chaos",
    ),
    Page(
        "/healing/replay",
        "Replay",
        (),
        forms=(
            Act(
                "replay",
                "Replay the last days",
                "POST /api/healing/replay",
                (
                    Field("days", "Days", "number", required=True, preset="7"),
                    Field(
                        "rules",
                        "Rules (JSON)",
                        "json",
                        hint='A list of changed rules: [{"id": "default-cpu", "condition": "cpu_percent > 95", '
                        '"action": {"type": "clear_cache"}}]. The other rules stay as they are.',
                    ),
                    Field(
                        "dependencies",
                        "Dependencies (JSON)",
                        "json",
                        hint='The whole graph: [{"target": "shop", "depends_on": ["db"]}]. Empty: as it is now.',
                    ),
                ),
                shows=True,
            ),
        ),
        menu="Replay",
        lead="What the recorded events would lead to under another policy, beside what was done then.",
    ),
)
