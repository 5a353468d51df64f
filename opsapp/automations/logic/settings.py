"""What an automation is made of: its types, where each is carried out, its defaults."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypedDict

from opsapp.lib.jsontypes import JsonObject

from . import shelltext

TYPES = ("script", "service_control", "agent_command", "webhook", "notification", "composite", "workflow")
CONCURRENCY = ("queue", "skip", "replace")
INPUT_TYPES = ("string", "integer", "number", "boolean", "choice")
SERVICE_ACTIONS = ("start", "stop", "restart", "reload", "enable", "disable", "status")
IN_A_ROW: tuple[Literal["name", "type", "icon", "schedule", "enabled"], ...] = (
    "name",
    "type",
    "icon",
    "schedule",
    "enabled",
)  # settings that lists show
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
SEVERITIES = ("info", "warning", "critical")
TARGETS = ("agent_id", "hostname", "tag")
ICONS = {
    "script": "terminal",
    "service_control": "settings",
    "agent_command": "server",
    "webhook": "globe",
    "notification": "bell",
    "composite": "list",
    "workflow": "git-branch",
}
HERE = ("script", "service_control", "webhook")  # by a node of this service, when no agent is named
PROGRAMS = ("script", "service_control")  # on a host, or on a node of this service where they name none
PARENTS = ("composite", "workflow")


class InputDeclaration(TypedDict):
    """What may, or must, be given to a run."""

    name: str
    type: str
    default: Any
    required: bool
    choices: list[str]
    description: str


class AutomationSettings(TypedDict):
    """What people say of an automation, as it is stored. The type says which `params` there are."""

    name: str
    type: str
    params: JsonObject
    icon: str
    description: str
    schedule: str | None
    timezone: str | None
    catch_up: bool
    enabled: bool
    timeout: int
    concurrency: str
    retries: int
    requires_approval: bool
    approvers: list[str]
    quorum: int
    inputs: list[InputDeclaration]


def place(kind: str, params: Mapping[str, Any]) -> str:
    """Who carries it out: `here` (a node), `agents`, `inside` (nobody: it is made of other runs, or of a message)."""
    if kind == "agent_command" or any(params.get(name) for name in TARGETS):
        return "agents"
    return "here" if kind in HERE else "inside"


def runs_programs(kind: str, params: Mapping[str, Any]) -> bool:
    """Whether it starts a program on the server: what `automations.server_scripts` may forbid."""
    return kind in PROGRAMS and place(kind, params) == "here"


class Script(NamedTuple):
    """The text of a program that an automation holds. `shell`: the shell that reads it, None when it is no shell."""

    field: str
    text: str
    shell: str | None


def script_of(kind: str, params: Mapping[str, Any]) -> Script | None:
    if kind == "agent_command":
        return Script("command", params["command"], shelltext.DEFAULT_SHELL)
    if kind != "script":
        return None
    interpreter = params.get("interpreter")
    if place(kind, params) == "agents":  # an agent does not look at the first line
        interpreter = interpreter or shelltext.DEFAULT_SHELL
    return Script("script", params["script"], shelltext.shell_of(interpreter, params["script"]))


def outline(settings: AutomationSettings) -> tuple[str, str, str]:
    """What is asked of a run time and again: its automation's name, its type, and who carries it out."""
    kind = settings["type"]
    return settings["name"], kind, place(kind, settings["params"])


def children(kind: str, params: Mapping[str, Any]) -> list[str]:
    """The automations that this one is made of."""
    if kind == "composite":
        return list(params["automations"])
    return [step["automation_id"] for step in params["steps"]] if kind == "workflow" else []


def with_children(kind: str, params: Mapping[str, Any], ids: Iterable[str]) -> dict[str, Any]:
    """The params with other automations in the place of those, in the order of `children`."""
    if kind == "composite":
        return {**params, "automations": list(ids)}
    if kind == "workflow":
        steps = zip(params["steps"], ids, strict=True)
        return {**params, "steps": [{**step, "automation_id": automation_id} for step, automation_id in steps]}
    return dict(params)


def digest(settings: AutomationSettings) -> str:
    """A name for exactly these settings."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def loosens_gate(settings: AutomationSettings, changes: Mapping[str, Any]) -> bool:
    """Whether fewer people, or others, have to agree to a run after these changes. Where anybody who may operate could
    approve, naming some of them is no loosening."""
    after = {**settings, **changes}
    if not settings["requires_approval"]:
        return False
    others = bool(settings["approvers"]) and set(after["approvers"]) != set(settings["approvers"])
    return not after["requires_approval"] or others or after["quorum"] < settings["quorum"]
