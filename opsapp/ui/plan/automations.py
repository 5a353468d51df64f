"""Automations: the list, a new one of each type, one with its runs, a run."""

from __future__ import annotations

from opsapp.automations.records import PARAMS_OF, AutomationRecord, DeclaredInput
from opsapp.ui import parts
from opsapp.ui.shapes import automations, runs

from .shape import Act, Field, Page, Part, delete, inputs, switches, told

CANCEL = Act(
    "cancel",
    "Cancel",
    "POST /api/automations/runs/{run_id}/cancel",
    when={"status": ("queued", "running", "pending_approval")},
    grave=True,
    warns="What runs now is ended where it is. What it has done already is not undone.",
    done="It is being stopped.",
)
RUN = Act("run", "Run now", "POST /api/automations/{id}/run", inputs="inputs", goes="/automations/runs/{run_id}")
CHANGE = "PUT /api/automations/{id}"
DISABLE, ENABLE = switches(CHANGE)
FIRST, WHEN = inputs(AutomationRecord, "name", "description"), inputs(AutomationRecord, "schedule", "timezone")
ASKS = inputs(AutomationRecord, "requires_approval", "approvers", "quorum")
INPUTS = tuple(
    field._replace(fields=inputs(DeclaredInput, "name", "type", "required", "default", "choices", "description"))
    for field in inputs(AutomationRecord, "inputs")
)
TARGET = ("hostname", "agent_id", "tag")
FIELDS = {
    kind: inputs(PARAMS_OF[kind], *names, within="params")
    for kind, names in {
        "script": ("script", "interpreter", "env", "descriptors", *TARGET),
        "service_control": ("service", "action", *TARGET),
        "agent_command": ("command", "timeout", "descriptors", *TARGET),
        "webhook": (),
        "notification": ("title", "message", "severity", "channels"),
        "composite": (),
        "workflow": ("steps", "start"),
    }.items()
}


def new_of(kind: str) -> Act:
    return Act(
        f"create-{kind.replace('_', '-')}",
        "Create",
        "POST /api/automations",
        (*FIRST, *FIELDS[kind], *WHEN, *INPUTS, ASKS[0]),
        body={"type": kind},
        shows=True,
        here=True,
        result="automation_made.jinja2",
        offers=RUN,
    )


def all_fields(kind: str) -> tuple[Field, ...]:
    limits = inputs(AutomationRecord, "timeout", "retries", "concurrency")
    return (*FIRST, *FIELDS[kind], *INPUTS, *WHEN, *limits, *ASKS)


def edit_of(kind: str) -> Act:
    return Act(
        f"save-{kind.replace('_', '-')}",
        "Save",
        CHANGE,
        all_fields(kind),
        when={"type": (kind,)},
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
    delete(
        "/api/automations/{id}",
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
                    delete("/api/automations/{id}", many=True,
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
            told(parts.AUTOMATIONS, "/api/automations"),
            told(parts.PEOPLE, "/api/people", optional=True),
        ),
        template="automation.jinja2",
        shape=automations.one,
    ),
)  # fmt: skip
