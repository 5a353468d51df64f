"""Bodies, queries and answers of /api/automations and /api/secrets, and the YAML section `automations`."""

from __future__ import annotations

from typing import Any

import colander

from opsapp.automations.logic import filling
from opsapp.automations.logic import inputs as given_inputs
from opsapp.automations.logic.runs import STATUSES
from opsapp.automations.logic.settings import CONCURRENCY, INPUT_TYPES, METHODS, SERVICE_ACTIONS, SEVERITIES, TYPES
from opsapp.lib import cron
from opsapp.lib.zones import zone_problem
from opsapp.web.fields import (
    Anything,
    Body,
    Choice,
    Flag,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Paging,
    Text,
    Whole,
    check,
    fields_of,
    name_text,
)
from opsapp.wire.urls import text_problem, web_problem

ID = Text(1, 64)
NAME = Text(1, 64, pattern=r"[A-Za-z_][A-Za-z0-9_]*", example="a word like path")
SECRET_NAME = Text(1, 64, pattern=r"[A-Za-z0-9][A-Za-z0-9_.-]*", example="a word like deploy-token")
ENVIRONMENT = MapOf(Text(0, 20_000), 64, Text(1, 128, pattern=r"[A-Za-z_][A-Za-z0-9_]*", example="a word like PATH"))
INTERPRETER = Text(1, 255, pattern=r"[A-Za-z0-9/._+-]+", example="/bin/bash or python3")
SERVICE = Text(1, 255, pattern=r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*", example="nginx")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _schedule_problem(value: str | None) -> str | None:
    return cron.problem(value) if value else None


def _address_problem(url: str) -> str | None:
    """What stands in the place of a secret or an input is known when it is called, and no sooner."""
    form = filling.with_a_word(url)
    return text_problem(form) if filling.begins_with_a_secret(url) else web_problem(form)


# -- params by type


class Targeted(Body):
    agent_id = colander.SchemaNode(ID, missing=None)
    hostname = colander.SchemaNode(Text(1, 255), missing=None)
    tag = colander.SchemaNode(Text(1, 64), missing=None)


class ScriptParams(Targeted):
    script = colander.SchemaNode(Text(1, 65_000))
    interpreter = colander.SchemaNode(INTERPRETER, missing=None)
    env = colander.SchemaNode(ENVIRONMENT, missing=None)


class ServiceParams(Targeted):
    service = colander.SchemaNode(SERVICE)
    action = colander.SchemaNode(Choice(*SERVICE_ACTIONS))


class AgentCommandParams(Targeted):
    command = colander.SchemaNode(Text(1, 65_000))
    timeout = colander.SchemaNode(Whole(1, 3600), missing=None)


class WebhookParams(Body):
    url = colander.SchemaNode(Text(1, 4000), validator=check(_address_problem))
    method = colander.SchemaNode(Choice(*METHODS), missing="POST")
    headers = colander.SchemaNode(
        MapOf(Text(0, 8000), 50, Text(1, 200, pattern=r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", example="X-Name")), missing=None
    )
    body = colander.SchemaNode(Anything(), missing=None)


class NotificationParams(Body):
    channels = colander.SchemaNode(ListOf(Text(1, 200), 50, unique=True), missing=())
    severity = colander.SchemaNode(Choice(*SEVERITIES), missing="info")
    title = colander.SchemaNode(Text(1, 200))
    message = colander.SchemaNode(Text(0, 10_000), missing="")


class CompositeParams(Body):
    automations = colander.SchemaNode(ListOf(ID, 50, low=1))
    stop_on_failure = colander.SchemaNode(Flag(), missing=True)


class Step(Body):
    id = colander.SchemaNode(Text(1, 64))
    automation_id = colander.SchemaNode(ID)
    on_success = colander.SchemaNode(Nullable(Text(1, 64)), missing=None)
    on_failure = colander.SchemaNode(Nullable(Text(1, 64)), missing=None)


class WorkflowParams(Body):
    start = colander.SchemaNode(Nullable(Text(1, 64)), missing=None)
    steps = colander.SchemaNode(ListOf(Step(), 100, low=1))


PARAMS: dict[str, type[Body]] = {
    "script": ScriptParams,
    "service_control": ServiceParams,
    "agent_command": AgentCommandParams,
    "webhook": WebhookParams,
    "notification": NotificationParams,
    "composite": CompositeParams,
    "workflow": WorkflowParams,
}


# -- automations


class Input(Body):
    name = colander.SchemaNode(NAME)
    type = colander.SchemaNode(Choice(*INPUT_TYPES), missing="string")
    default = colander.SchemaNode(Anything(), missing=None)
    required = colander.SchemaNode(Flag(), missing=False)
    choices = colander.SchemaNode(ListOf(Text(1, 1000), 200, unique=True), missing=())
    description = colander.SchemaNode(Text(0, 1000), missing="")

    def validator(self, node: colander.SchemaNode, value: dict[str, Any]) -> None:
        said = given_inputs.declaration_problem(value)
        if said:
            raise colander.Invalid(node, said)


def _inputs_problem(value: Any) -> str | None:
    names = [each["name"] for each in value]
    return "two inputs have the same name" if len(set(names)) != len(names) else None


def _wrong_params(sound: dict[str, Any]) -> dict[str, str]:
    """Params are judged by their type."""
    if "type" not in sound or "params" not in sound:
        return {}
    try:
        PARAMS[sound["type"]]().deserialize(sound["params"])
    except colander.Invalid as wrong:
        return {f"params.{name}" if name else "params": said for name, said in fields_of(wrong).items()}
    return {}


class AutomationSettings(Body):
    across = staticmethod(_wrong_params)
    name = colander.SchemaNode(name_text())
    type = colander.SchemaNode(Choice(*TYPES))
    params = colander.SchemaNode(MapOf(Anything()))
    icon = colander.SchemaNode(Nullable(Text(0, 100)), missing=None)
    description = colander.SchemaNode(Text(0, 4000), missing="")
    schedule = colander.SchemaNode(Nullable(Text(0, 200)), missing=None, validator=check(_schedule_problem))
    timezone = colander.SchemaNode(Nullable(Text(1, 60)), missing=None, validator=check(zone_problem))
    catch_up = colander.SchemaNode(Flag(), missing=False)
    enabled = colander.SchemaNode(Flag(), missing=True)
    timeout = colander.SchemaNode(Whole(1, 86_400), missing=300)
    concurrency = colander.SchemaNode(Choice(*CONCURRENCY), missing="queue")
    retries = colander.SchemaNode(Whole(0, 10), missing=0)
    requires_approval = colander.SchemaNode(Flag(), missing=False)
    approvers = colander.SchemaNode(ListOf(Text(1, 64), 100, unique=True), missing=())
    quorum = colander.SchemaNode(Whole(1, 20), missing=1)
    inputs = colander.SchemaNode(ListOf(Input(), 50), missing=(), validator=check(_inputs_problem))


class AutomationEntry(AutomationSettings):
    """An automation in a document (`opsapp apply`): its params' defaults are filled in too."""

    def validator(self, node: colander.SchemaNode, value: dict[str, Any]) -> None:
        value["params"] = PARAMS[value["type"]]().deserialize(value["params"])


READ_ONLY = (
    "id",
    "last_run",
    "last_status",
    "next_run",
    "webhook_token",
    "webhook_url",
    "created_at",
    "created_by",
    "updated_at",
    "running",
    "queued",
)


class AutomationRow(Body):
    id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    type = colander.SchemaNode(Choice(*TYPES))
    icon = colander.SchemaNode(Text())
    schedule = colander.SchemaNode(Nullable(Text()))
    enabled = colander.SchemaNode(Flag())
    last_run = colander.SchemaNode(Nullable(Whole()))
    last_status = colander.SchemaNode(Nullable(Choice(*STATUSES)))
    next_run = colander.SchemaNode(Nullable(Whole()))
    unreadable = colander.SchemaNode(Text(), missing=colander.drop)


class AutomationRecord(AutomationRow):
    description = colander.SchemaNode(Text())
    params = colander.SchemaNode(MapOf(Anything()))
    timezone = colander.SchemaNode(Nullable(Text()))
    catch_up = colander.SchemaNode(Flag())
    timeout = colander.SchemaNode(Whole())
    concurrency = colander.SchemaNode(Choice(*CONCURRENCY))
    retries = colander.SchemaNode(Whole())
    requires_approval = colander.SchemaNode(Flag())
    approvers = colander.SchemaNode(ListOf(Text()))
    quorum = colander.SchemaNode(Whole())
    inputs = colander.SchemaNode(ListOf(MapOf(Anything())))
    created_at = colander.SchemaNode(Whole())
    created_by = colander.SchemaNode(Text())
    updated_at = colander.SchemaNode(Whole())
    running = colander.SchemaNode(Nullable(Text()))
    queued = colander.SchemaNode(Whole())


class AutomationList(Paging):
    q = colander.SchemaNode(Text(0, 200), missing=None)


class Created(Body):
    id = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice("created"))


class AutomationCreated(Created):
    webhook_token = colander.SchemaNode(Text())
    webhook_url = colander.SchemaNode(Text())


class Updated(Body):
    status = colander.SchemaNode(Choice("updated"))


class Deleted(Body):
    status = colander.SchemaNode(Choice("deleted"))


class NewToken(Body):
    webhook_token = colander.SchemaNode(Text())
    webhook_url = colander.SchemaNode(Text())


class Imported(Body):
    imported = colander.SchemaNode(Whole(0))
    ids = colander.SchemaNode(ListOf(Text()))


class TemplateRecord(Body):
    id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    description = colander.SchemaNode(Text())
    type = colander.SchemaNode(Choice(*TYPES))
    icon = colander.SchemaNode(Text())
    schedule = colander.SchemaNode(Nullable(Text()))
    params = colander.SchemaNode(MapOf(Anything()))
    inputs = colander.SchemaNode(ListOf(MapOf(Anything())))


# -- runs


class RunStarted(Body):
    run_id = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice(*STATUSES))
    request_id = colander.SchemaNode(Text(), missing=colander.drop)


class RunRow(Body):
    run_id = colander.SchemaNode(Text())
    automation_id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    type = colander.SchemaNode(Choice(*TYPES))
    status = colander.SchemaNode(Choice(*STATUSES))
    reason = colander.SchemaNode(Nullable(Text()))
    started = colander.SchemaNode(Nullable(Whole()))
    finished = colander.SchemaNode(Nullable(Whole()))
    requested_by = colander.SchemaNode(Text())
    origin = colander.SchemaNode(Text())
    created_at = colander.SchemaNode(Whole())
    exit_code = colander.SchemaNode(Nullable(Whole()))
    attempt = colander.SchemaNode(Whole())


class RunPart(Body):
    step = colander.SchemaNode(Text())
    run_id = colander.SchemaNode(Nullable(Text()))
    status = colander.SchemaNode(Text())


class RunRecord(RunRow):
    output = colander.SchemaNode(Text())
    truncated = colander.SchemaNode(Flag())
    inputs = colander.SchemaNode(MapOf(Anything()))
    request_id = colander.SchemaNode(Nullable(Text()))
    parent = colander.SchemaNode(Nullable(Text()))
    parts = colander.SchemaNode(ListOf(RunPart()))


class RunList(Paging):
    limit = colander.SchemaNode(Whole(1, 1000), missing=100)
    status = colander.SchemaNode(Choice(*STATUSES), missing=None)


class RunAfter(Body):
    """After a cancel: the status may still be `running` until whoever carries it out has stopped."""

    run_id = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice(*STATUSES))


# -- secrets


class NewSecret(Body):
    name = colander.SchemaNode(SECRET_NAME)
    value = colander.SchemaNode(Text(1, 20_000))
    allowed_for = colander.SchemaNode(ListOf(Text(1, 64), 1000, unique=True), missing=())


class SecretUse(Body):
    automation_id = colander.SchemaNode(Text(1, 64))


class SecretUses(Body):
    allowed_for = colander.SchemaNode(ListOf(Text()))
    lapsed = colander.SchemaNode(ListOf(Text()))


class SecretValue(Body):
    value = colander.SchemaNode(Text(1, 20_000))


class SecretRecord(Body):
    id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    allowed_for = colander.SchemaNode(ListOf(Text()))
    lapsed = colander.SchemaNode(ListOf(Text()))
    created_at = colander.SchemaNode(Whole())
    updated_at = colander.SchemaNode(Whole())
    updated_by = colander.SchemaNode(Text())


class SecretCreated(Created):
    name = colander.SchemaNode(Text())


# -- configuration


class Limits(Body):
    """Of each program on the server; null: none."""

    open_files = colander.SchemaNode(Nullable(Whole(16, 1_000_000)), missing=1024)
    memory_mb = colander.SchemaNode(Nullable(Whole(16, 1 << 20)), missing=4096)
    file_mb = colander.SchemaNode(Nullable(Whole(1, 1 << 20)), missing=1024)
    cpu_s = colander.SchemaNode(Nullable(Whole(1, 86_400)), missing=None)


class AutomationsSection(Body):
    server_scripts = colander.SchemaNode(Flag(), missing=True)
    max_running = colander.SchemaNode(Whole(1, 1000), missing=20)
    max_waiting = colander.SchemaNode(Whole(1, 10_000), missing=100)
    kill_grace_s = colander.SchemaNode(Number(0.1, 5), missing=5)
    retry_delay_s = colander.SchemaNode(Number(0, 3600), missing=5)
    webhook_calls_per_minute = colander.SchemaNode(Whole(1, 100_000), missing=60)
    path = colander.SchemaNode(Text(1, 4000), missing=PATH)


class RunsRetention(Body):
    days = colander.SchemaNode(Whole(1, 3650), missing=90)
    per_automation = colander.SchemaNode(Whole(10, 100_000), missing=1000)
