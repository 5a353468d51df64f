"""Automations: the list, a new one of each type, one with its runs, a run."""

from __future__ import annotations

from opsapp.ui import parts
from opsapp.ui.shapes import automations, runs

from .shape import Act, Field, Page, Part, switch, told

CANCEL = Act(
    "cancel",
    "Cancel",
    "POST /api/automations/runs/{run_id}/cancel",
    when=(("status", ("queued", "running", "pending_approval")),),
    grave=True,
    warns="What runs now is ended where it is. What it has done already is not undone.",
    done="It is being stopped.",
)
RUN = Act("run", "Run now", "POST /api/automations/{id}/run", inputs="inputs", goes="/automations/runs/{run_id}")
CHANGE = "PUT /api/automations/{id}"
DISABLE, ENABLE = switch(CHANGE, on=False), switch(CHANGE, on=True)
CONCURRENCY = Field("concurrency", "When one runs already", "choice", ("queue", "skip", "replace"))
CRON = "An expression has minute, hour, day, month and weekday: 0 3 * * 1"
SCHEDULE = (
    Field("schedule", "Schedule", "schedule", hint=CRON, unsaid="Only by hand", clears=True),
    Field("timezone", "Time zone", hint="Europe/Berlin. Empty: that of the service.", clears=True),
)
TARGET = (
    Field("params.hostname", "On the host", "name", of="host", by="hostname", unsaid="none", clears=True),
    Field("params.agent_id", "On this host, whatever it is called", "name", of="host", unsaid="none"),
    Field("params.tag", "On all with the tag", "name", of="tag", by="name", unsaid="none"),
)
USED = Field("automation_id", "Automation", "name", of="automation", required=True)
STEP = (
    Field("id", "Its name", required=True, hint="A short word, like backup"),
    USED,
    Field("on_success", "After success, start", clears=True),
    Field("on_failure", "After failure, start", clears=True),
)
INPUT = (
    Field("name", "Name", required=True, hint="In scripts it is {{input:name}}"),
    Field("type", "Type", "choice", ("string", "integer", "number", "boolean", "choice"), True, preset="string"),
    Field("required", "Required", "flag", unsaid="no"),
    Field("default", "Default value", "like", like="type"),
    Field("choices", "Choices", "list", hint="With commas. For the type choice"),
    Field("description", "Description"),
)
INPUTS = Field("inputs", "Inputs", "rows", fields=INPUT, hint="What is asked for when it is run")
DESCRIPTORS = Field(
    "params.descriptors", "Secrets by file descriptor (JSON)", "json",
    hint='{"TOKEN_FD": "{{secret:name}}"}: the script reads it with cat /dev/fd/$TOKEN_FD',
)  # fmt: skip
FIELDS = {
    "script": (
        Field("params.script", "Script", "script", required=True),
        Field("params.interpreter", "Interpreter", hint="/bin/bash or python3. Empty: /bin/sh"),
        Field("params.env", "Environment (JSON)", "json", hint='{"LANG": "C"}'),
        DESCRIPTORS,
        *TARGET,
    ),
    "service_control": (
        Field("params.service", "Service", required=True, hint="nginx"),
        Field(
            "params.action",
            "What to do",
            "choice",
            ("start", "stop", "restart", "reload", "enable", "disable", "status"),
            required=True,
        ),
        *TARGET,
    ),
    "agent_command": (
        Field("params.command", "Command", "script", required=True),
        Field("params.timeout", "Time limit of the command", "duration"),
        DESCRIPTORS,
        *TARGET,
    ),
    "webhook": (
        Field("params.url", "Address", required=True, hint="https://… It may hold {{secret:name}}."),
        Field("params.method", "Method", "choice", ("POST", "GET", "PUT", "PATCH", "DELETE", "HEAD")),
        Field("params.headers", "Headers (JSON)", "json", hint='{"X-Name": "value"}'),
        Field("params.body", "Body (JSON)", "json"),
    ),
    "notification": (
        Field("params.title", "Title", required=True),
        Field("params.message", "Message", "area"),
        Field("params.severity", "Severity", "choice", ("info", "warning", "critical")),
        Field(
            "params.channels",
            "Channels",
            "names",
            of="channel",
            by="name",
            hint="Names with commas. Empty: all that take it.",
            clears=True,
        ),
    ),
    "composite": (
        Field("params.automations", "Automations, in order", "rows", fields=(USED,)),
        Field("params.stop_on_failure", "Stop when one fails", "flag", unsaid="yes"),
    ),
    "workflow": (
        Field(
            "params.steps",
            "Steps",
            "rows",
            fields=STEP,
            hint="Each step names the one that comes next. Empty: the workflow ends there.",
        ),
        Field("params.start", "First step"),
    ),
}


def new_of(kind: str) -> Act:
    return Act(
        f"create-{kind.replace('_', '-')}",
        "Create",
        "POST /api/automations",
        (
            Field("name", "Name", required=True),
            Field("description", "Description"),
            *FIELDS[kind],
            *SCHEDULE,
            INPUTS,
            Field("requires_approval", "Ask before each run", "flag", unsaid="no"),
        ),
        body=(("type", kind),),
        shows=True,
        here=True,
        result="automation_made.jinja2",
        offers=RUN,
    )


def all_fields(kind: str) -> tuple[Field, ...]:
    return (
        Field("name", "Name", required=True),
        Field("description", "Description"),
        *FIELDS[kind],
        INPUTS,
        *SCHEDULE,
        Field("timeout", "Time limit", "duration"),
        Field("retries", "Retries", "number"),
        CONCURRENCY,
        Field("requires_approval", "Ask before each run", "flag", unsaid="no"),
        Field("approvers", "Who may approve", "names", of="user", by="username",
              hint="User names with commas. Empty: operators but who asked.", clears=True),
        Field("quorum", "Approvals needed", "number"),
    )  # fmt: skip


def edit_of(kind: str) -> Act:
    return Act(
        f"save-{kind.replace('_', '-')}",
        "Save",
        CHANGE,
        all_fields(kind),
        when=(("type", (kind,)),),
        here=True,
        goes="/automations/{id}",
    )


def clone_of(kind: str) -> Act:
    """A new one with every setting of the first, its approval too."""
    made = new_of(kind)
    return made._replace(name=f"clone-{kind.replace('_', '-')}", label="Make the copy", fields=all_fields(kind))


EDIT = (
    *(edit_of(kind) for kind in FIELDS),
    Act(
        "save",
        "Save the JSON",
        CHANGE,
        (Field("params", "Parameters (JSON)", "json", required=True, hint="What it does, as the API takes it."),),
        here=True,
        goes="/automations/{id}",
    ),
)
RUN_ACTS = (
    RUN,
    Act(
        "token",
        "New webhook token",
        "POST /api/automations/{id}/webhook-token",
        shows=True,
        result="automation_made.jinja2",
    ),
    DISABLE,
    ENABLE,
    Act(
        "delete",
        "Delete",
        "DELETE /api/automations/{id}",
        grave=True,
        warns="Its schedule ends and its webhook is refused. Its past runs stay. You can undo it for a minute.",
        goes="/automations",
    ),
)

AUTOMATIONS = (
    Page(
        "/automations",
        "Automations",
        (
            Part(
                "Automations",
                "/api/automations",
                name=parts.AUTOMATIONS,
                paged=True,
                filters=(Field("q", "Name"), Field("sort", "Sort by")),
                acts=(
                    RUN._replace(inputs="", many=True, warns="Each begins at once, with its inputs as usual. One that "
                                 "has to be approved asks first."),
                    DISABLE._replace(
                        many=True,
                        warns="They do not run any more: not on their schedule, not by hand, not as a heal.",
                    ),
                    ENABLE._replace(many=True),
                    Act("delete", "Delete", "DELETE /api/automations/{id}", grave=True, many=True,
                        warns="Their schedules end and their webhooks are refused. Rules that run them fail at that "
                        "step. One that others are made of stays. You can undo it for a minute."),
                ),
            ),
            told(parts.RUNS, "/api/automations/runs?limit=100"),
            told(
                parts.TEMPLATES,
                "/api/automations/templates",
                acts=(
                    Act(
                        "apply",
                        "Create from template",
                        "POST /api/automations/templates/{id}/apply",
                        shows=True,
                        result="automation_made.jinja2",
                    ),
                ),
            ),
        ),
        menu="Automations",
        template="automations.jinja2",
        shape=automations.listed,
    ),
    Page(
        "/automations/new",
        "A new automation",
        (told(parts.TEMPLATES, "/api/automations/templates"),),
        forms=tuple(new_of(kind) for kind in FIELDS),
        template="automation_new.jinja2",
        shape=automations.new,
        needs="POST /api/automations",
    ),
    Page(
        "/automations/runs/{run_id}",
        "Run",
        (
            told(parts.RUN, "/api/automations/runs/{run_id}", acts=(CANCEL,)),
            told(parts.AUTOMATION, "/api/automations/{run.automation_id}", acts=(RUN,)),
        ),
        template="run.jinja2",
        shape=runs.shape,
    ),
    Page(
        "/automations/{id}/clone",
        "Clone",
        (told(parts.AUTOMATION, "/api/automations/{id}"),),
        forms=tuple(clone_of(kind) for kind in FIELDS),
        template="automation_clone.jinja2",
        shape=automations.cloned,
        needs="POST /api/automations",
    ),
    Page(
        "/automations/{id}/edit",
        "Edit",
        (told(parts.AUTOMATION, "/api/automations/{id}", acts=EDIT),),
        template="automation_edit.jinja2",
        shape=automations.edited,
        needs=CHANGE,
    ),
    Page(
        "/automations/{id}",
        "Automation",
        (
            told(parts.AUTOMATION, "/api/automations/{id}", acts=RUN_ACTS),
            Part("Runs", "/api/automations/{id}/runs", paged=True, name=parts.RUNS, acts=(CANCEL,)),
            told(parts.RULES, "/api/healing/rules", optional=True),
            told(parts.USERS_OF, "/api/automations?uses={id}"),
            told(parts.PEOPLE, "/api/people", optional=True),
        ),
        template="automation.jinja2",
        shape=automations.one,
    ),
)  # fmt: skip
