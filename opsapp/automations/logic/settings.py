"""What people say of an automation: bodies, answers, what is written as code and the typed value follow from it. The
type says which `params` there are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from opsapp.lib import cron
from opsapp.lib.visible import name_kind
from opsapp.lib.zones import zone_problem
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import ByField, CheckedBy, Choice, Text
from opsapp.wire.records import Between, DeclaredObject, FormField, InAnswers, Most, settings_of

from .inputs import Input, declaration_problem
from .params import AgentCommandParams, NotificationParams, Params, ScriptParams, ServiceParams, WebhookParams
from .workflow import CompositeParams, WorkflowParams

PARAMS: dict[str, type[Params]] = {
    "script": ScriptParams,
    "service_control": ServiceParams,
    "agent_command": AgentCommandParams,
    "webhook": WebhookParams,
    "notification": NotificationParams,
    "composite": CompositeParams,
    "workflow": WorkflowParams,
}
TYPES = tuple(PARAMS)
BY_TYPE = ByField("type", {name: DeclaredObject(record) for name, record in PARAMS.items()})
ICONS = {
    "script": "terminal",
    "service_control": "settings",
    "agent_command": "server",
    "webhook": "globe",
    "notification": "bell",
    "composite": "list",
    "workflow": "git-branch",
}
PROGRAMS = ("script", "service_control")  # on a host, or on a node of this service where they name none


def schedule_problem(value: str) -> str | None:
    return cron.problem(value) if value else None


def _inputs_problem(read: list[dict[str, Any]]) -> str | None:
    names = [declaration["name"] for declaration in read]
    return "two inputs have the same name" if len(set(names)) != len(names) else None


Schedule = Annotated[str | None, Text(0, 200), CheckedBy(schedule_problem)]
InputsDeclared = Annotated[
    tuple[Annotated[Input, CheckedBy(declaration_problem)], ...], Most(50), CheckedBy(_inputs_problem)
]


@frozen
class AutomationSettings:
    sample: ClassVar[dict[str, Any]] = {"name": "Clean up", "type": "script", "params": {"script": "echo done"}}

    name: Annotated[str, name_kind(), FormField("Name")]
    type: Annotated[str, Choice(*TYPES)]
    params: Annotated[Params, BY_TYPE]
    icon: Annotated[str | None, Text(0, 100), InAnswers(Text())] = None  # each type has one
    description: Annotated[str, Text(0, 4000), FormField("Description")] = ""
    schedule: Annotated[
        Schedule,
        FormField(
            "Schedule",
            "schedule",
            "An expression has minute, hour, day, month and weekday: 0 3 * * 1",
            unsaid="Only by hand",
            clears=True,
        ),
    ] = None
    timezone: Annotated[
        str | None,
        Text(1, 60),
        CheckedBy(zone_problem),
        FormField("Time zone", hint="Europe/Berlin. Empty: that of the service.", clears=True),
    ] = None
    catch_up: bool = False
    enabled: bool = True
    timeout: Annotated[int, Between(1, 86_400), FormField("Time limit", "duration")] = 300
    concurrency: Annotated[
        Literal["queue", "skip", "replace"], FormField("When one runs already", "choice", unsaid="as usual")
    ] = "queue"
    retries: Annotated[int, Between(0, 10), FormField("Retries", "number")] = 0
    requires_approval: Annotated[bool, FormField("Ask before each run", "flag")] = False
    approvers: Annotated[
        tuple[Annotated[str, Text(1, 64)], ...],
        Most(100, unique=True),
        FormField(
            "Who may approve",
            "names",
            "User names with commas. Empty: operators but who asked.",
            of="user",
            by="username",
            clears=True,
        ),
    ] = ()
    quorum: Annotated[int, Between(1, 20), FormField("Approvals needed", "number")] = 1
    inputs: Annotated[InputsDeclared, FormField("Inputs", "rows", "What is asked for when it is run")] = ()

    @property
    def outline(self) -> tuple[str, str, str]:
        """What is asked of a run time and again: its automation's name, its type, and who carries it out."""
        return self.name, self.type, self.params.place

    @property
    def gives(self) -> frozenset[str]:
        return frozenset(declaration.name for declaration in self.inputs)

    def with_children(self, ids: Iterable[str]) -> AutomationSettings:
        return replace(self, params=self.params.with_children(ids))

    def stored(self) -> dict[str, object]:
        return settings_of(self)


def read_params(kind: str, given: object) -> tuple[dict[str, Any], dict[str, str]]:
    """The params with defaults, and what is wrong with them by path."""
    wrong: dict[str, str] = {}
    return BY_TYPE.choices[kind].read(given, "params", wrong), wrong


def runs_programs(kind: str, place: str) -> bool:
    """Whether it runs programs on the server: what `automations.server_scripts` may forbid."""
    return kind in PROGRAMS and place == "here"


def digest(stored: dict[str, object]) -> str:
    """A name for exactly these settings."""
    return hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()[:16]


def loosens_gate(before: AutomationSettings, after: AutomationSettings) -> bool:
    """Fewer people, or others, have to agree to a run after this change. Where any operator could approve, naming some
    of them is no loosening."""
    if not before.requires_approval:
        return False
    others = bool(before.approvers) and set(after.approvers) != set(before.approvers)
    return not after.requires_approval or others or after.quorum < before.quorum
