"""Bodies, queries and answers of /api/automations and /api/secrets, and the YAML section `automations`."""

from __future__ import annotations

from typing import Any

from opsapp.automations.logic import inputs as given_inputs
from opsapp.automations.logic import references
from opsapp.automations.logic.runs import STATUSES
from opsapp.automations.logic.settings import (
    CONCURRENCY,
    IN_A_ROW,
    INPUT_TYPES,
    METHODS,
    SERVICE_ACTIONS,
    SEVERITIES,
    TYPES,
)
from opsapp.lib import cron
from opsapp.lib.zones import zone_problem
from opsapp.web.bodies import judge
from opsapp.web.fields import (
    Body,
    Paging,
    anything,
    choice,
    field,
    flag,
    list_of,
    map_of,
    name_text,
    order,
    scalar,
    text,
    whole,
    with_settings,
)
from opsapp.web.schemas import Created
from opsapp.wire.kinds import below
from opsapp.wire.urls import text_problem, web_problem

ID = text(1, 64)
NAME = text(1, 64, pattern=r"[A-Za-z_][A-Za-z0-9_]*", example="a word like path")
SECRET_NAME = text(1, 64, pattern=r"[A-Za-z0-9][A-Za-z0-9_.-]*", example="a word like deploy-token")
ENVIRONMENT = map_of(text(0, 20_000), 64, text(1, 128, pattern=r"[A-Za-z_][A-Za-z0-9_]*", example="a word like PATH"))
INTERPRETER = text(1, 255, pattern=r"[A-Za-z0-9/._+-]+", example="/bin/bash or python3")
SERVICE = text(1, 255, pattern=r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*", example="nginx")


def _schedule_problem(value: str | None) -> str | None:
    return cron.problem(value) if value else None


def _address_problem(url: str) -> str | None:
    """What stands in the place of a secret or an input is known when it is called, and no sooner."""
    form = references.with_a_word(url)
    return text_problem(form) if references.begins_with_a_secret(url) else web_problem(form)


# -- params by type


class Targeted(Body):
    agent_id = field(ID, default=None)
    hostname = text(1, 255, default=None)
    tag = text(1, 64, default=None)


class ScriptParams(Targeted):
    script = text(1, 65_000)
    interpreter = field(INTERPRETER, default=None)
    env = field(ENVIRONMENT, default=None)


class ServiceParams(Targeted):
    service = SERVICE
    action = choice(*SERVICE_ACTIONS)


class AgentCommandParams(Targeted):
    command = text(1, 65_000)
    timeout = whole(1, 3600, default=None)


class WebhookParams(Body):
    url = text(1, 4000, check=_address_problem)
    method = choice(*METHODS, default="POST")
    headers = map_of(
        text(0, 8000), 50, text(1, 200, pattern=r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", example="X-Name"), default=None
    )
    body = anything(default=None)


class NotificationParams(Body):
    channels = list_of(text(1, 200), 50, unique=True, default=())
    severity = choice(*SEVERITIES, default="info")
    title = text(1, 200)
    message = text(0, 10_000, default="")


class CompositeParams(Body):
    automations = list_of(ID, 50, low=1)
    stop_on_failure = flag(default=True)


class Step(Body):
    id = text(1, 64)
    automation_id = ID
    on_success = text(1, 64, default=None, null=True)
    on_failure = text(1, 64, default=None, null=True)


class WorkflowParams(Body):
    start = text(1, 64, default=None, null=True)
    steps = list_of(Step, 100, low=1)


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
    name = NAME
    type = choice(*INPUT_TYPES, default="string")
    default = scalar(default=None)
    required = flag(default=False)
    choices = list_of(text(1, 1000), 200, unique=True, default=())
    description = text(0, 1000, default="")

    check = staticmethod(given_inputs.declaration_problem)


def _inputs_problem(value: Any) -> str | None:
    names = [declaration["name"] for declaration in value]
    return "two inputs have the same name" if len(set(names)) != len(names) else None


def _wrong_params(sound: dict[str, Any]) -> dict[str, str]:
    """Params are judged by their type."""
    if "type" not in sound or "params" not in sound:
        return {}
    return read_params(sound["type"], sound["params"])[1]


def read_params(kind: str, given: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The params of this type, defaults filled in, and what is wrong with them by path."""
    params, wrong = judge(PARAMS[kind](), given)
    return params, {below("params", name): message for name, message in wrong.items()}


class AutomationSettings(Body):
    sample = {"name": "Clean up", "type": "script", "params": {"script": "echo done"}}
    across = _wrong_params
    name = name_text()
    type = choice(*TYPES)
    params = map_of(anything())
    icon = text(0, 100, default=None, null=True)
    description = text(0, 4000, default="")
    schedule = text(0, 200, default=None, check=_schedule_problem, null=True)
    timezone = text(1, 60, default=None, check=zone_problem, null=True)
    catch_up = flag(default=False)
    enabled = flag(default=True)
    timeout = whole(1, 86_400, default=300)
    concurrency = choice(*CONCURRENCY, default="queue")
    retries = whole(0, 10, default=0)
    requires_approval = flag(default=False)
    approvers = list_of(text(1, 64), 100, unique=True, default=())
    quorum = whole(1, 20, default=1)
    inputs = list_of(Input, 50, default=(), check=_inputs_problem)


class TemplateChange(AutomationSettings):
    """What an automation has otherwise than the template that it is made from."""


class AutomationEntry(AutomationSettings):
    """An automation in a document (`opsapp apply`): its params' defaults are filled in too."""

    def problem(self, value: Any) -> None:
        value["params"] = PARAMS[value["type"]]().deserialize(value["params"])


@with_settings(AutomationSettings, *IN_A_ROW)
class AutomationRow(Body):
    id = text()
    icon = text()  # each type has one
    last_run = whole(null=True)
    last_status = choice(*STATUSES, null=True)
    next_run = whole(null=True)
    unreadable = text(optional=True)


@with_settings(AutomationSettings)
class AutomationRecord(AutomationRow):
    created_at = whole()
    created_by = text()
    updated_at = whole()
    running = text(null=True)
    queued = whole()
    needs_admin = flag()  # it runs on the service's own machine as the service's own user: only admins write that


class AutomationList(Paging):
    q = text(0, 200, default=None)
    uses = text(1, 200, optional=True)  # the id of a host or an automation, or the name of a channel or an approver
    sort = order("name", "type", "last_run", "next_run")


class AutomationCreated(Created):
    webhook_token = text()
    webhook_url = text()


class NewToken(Body):
    webhook_token = text()
    webhook_url = text()


class Imported(Body):
    imported = whole(0)
    ids = list_of(text(), 10_000)


@with_settings(AutomationSettings, "name", "description", "type", "schedule", "params", "inputs")
class TemplateRecord(Body):
    id = text()
    icon = text()
    needs_admin = flag()


# -- runs

RUN_INPUTS = map_of(scalar())


class RunStarted(Body):
    run_id = text()
    status = choice(*STATUSES)
    request_id = text(optional=True)


class RunRow(Body):
    run_id = text()
    automation_id = text()
    name = text()
    type = choice(*TYPES)
    status = choice(*STATUSES)
    reason = text(null=True)
    started = whole(null=True)
    finished = whole(null=True)
    requested_by = text()
    origin = text()
    created_at = whole()
    exit_code = whole(null=True)
    attempt = whole()
    unreadable = text(optional=True)


class RunPart(Body):
    step = text()
    run_id = text(null=True)
    status = text()


class RunRecord(RunRow):
    output = text()
    truncated = flag()
    inputs = map_of(scalar())
    request_id = text(null=True)
    parent = text(null=True)
    parts = list_of(RunPart)


class RunList(Paging):
    limit = whole(1, 1000, default=100)
    status = choice(*STATUSES, default=None)


class RunAfter(Body):
    """After a cancel: the status may still be `running` until whoever carries it out has stopped."""

    run_id = text()
    status = choice(*STATUSES)


# -- secrets


class NewSecret(Body):
    name = SECRET_NAME
    value = text(1, 20_000)
    allowed_for = list_of(text(1, 64), 1000, unique=True, default=())


class SecretUse(Body):
    automation_id = text(1, 64)


class SecretUses(Body):
    allowed_for = list_of(text())
    lapsed = list_of(text())


class SecretValue(Body):
    value = text(1, 20_000)


@with_settings(NewSecret, "name")
class SecretRecord(SecretUses):
    id = text()
    created_at = whole()
    updated_at = whole()
    updated_by = text()


class SecretUpdated(SecretRecord):
    status = choice("updated")


class SecretCreated(SecretRecord):
    status = choice("created")
