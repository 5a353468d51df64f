"""Automations and secrets as they are answered: what people say (`logic.settings`) and what the service says of them.

Must not: know what is stored (`resources`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from opsapp.lib.visible import name_kind
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, DeclaredField, MapOf, Scalar, Text, Whole
from opsapp.wire.records import AT_TIMES, FormField, Most, Sealed, Told

from .logic.inputs import Input
from .logic.params import Params
from .logic.runs import STATUSES
from .logic.settings import BY_TYPE, PARAMS, TYPES, AutomationSettings, InputsDeclared, Schedule

Since = Annotated[int, Whole()]
DeclaredInput = Input  # of an automation or a template
PARAMS_OF = PARAMS  # by the type
SecretName = Annotated[str, Text(1, 64, r"[A-Za-z0-9][A-Za-z0-9_.-]*", "a word like deploy-token")]
Value = Annotated[str, Text(1, 20_000)]
AllowedFor = Annotated[tuple[Annotated[str, Text(1, 64)], ...], Most(1000, unique=True)]
Status = Annotated[str, Choice(*STATUSES)]
Type = Annotated[str, Choice(*TYPES)]


@frozen
class AutomationRecord(AutomationSettings):
    id: Told[str] = ""
    last_run: Told[Since | None] = None
    last_status: Told[Status | None] = None
    next_run: Told[Since | None] = None
    unreadable: Annotated[str, AT_TIMES] = ""
    created_at: Told[Since] = 0
    created_by: Told[str] = ""
    updated_at: Told[Since] = 0
    running: Told[str | None] = None
    queued: Told[Since] = 0
    needs_admin: Told[bool] = False  # it runs on the service's own machine as its own user: only admins write that


@frozen
class AutomationStands:
    """How it stands: when it ran last, and when it runs again."""

    id: str
    last_run: Since | None = None
    last_status: Status | None = None
    next_run: Since | None = None


@frozen(kw_only=True)
class AutomationRow(AutomationStands):
    """What a list shows of it."""

    name: Annotated[str, name_kind()]
    type: Type
    icon: str
    schedule: Schedule
    timezone: str | None
    enabled: bool
    unreadable: Annotated[str, AT_TIMES] = ""


@frozen
class TemplateRecord:
    """What an automation can be made from at once."""

    name: Annotated[str, name_kind()]
    description: Annotated[str, Text(0, 4000)]
    type: Type
    schedule: Schedule
    params: Annotated[Params, BY_TYPE]
    inputs: InputsDeclared
    id: str
    icon: str
    needs_admin: bool


# -- runs


@frozen
class RunSummary:
    """What an event tells of a run. `origin`: what started it."""

    run_id: str
    automation_id: str
    name: str
    type: Type
    status: Status
    reason: str | None
    started: Since | None
    finished: Since | None
    requested_by: str
    origin: str


@frozen
class RunRow(RunSummary):
    created_at: Since
    exit_code: Since | None
    attempt: Since
    unreadable: Annotated[str, AT_TIMES] = ""


@frozen
class RunPart:
    step: str
    run_id: str | None
    status: str


@frozen(kw_only=True)
class RunRecord(RunRow):
    output: str
    truncated: bool
    inputs: Annotated[Mapping[str, object], MapOf(DeclaredField("", Scalar()))]
    request_id: str | None
    parent: str | None
    parts: tuple[RunPart, ...]


# -- secrets


@frozen
class NewSecret:
    component: ClassVar[str] = "Secret"

    name: Annotated[SecretName, FormField("Name", hint="Scripts use it as {{secret:name}}")]
    value: Annotated[Value, FormField("Value", "password", "It is sealed, and never shown again")]
    allowed_for: Annotated[
        AllowedFor, FormField("Automations that may use it", "names", of="automation", ticks=True)
    ] = ()


@frozen
class SecretAsCode:
    """A secret of a document: `allowed_for` names automations. Without a value it keeps the one that it has."""

    name: SecretName
    value: Annotated[Value | None, Sealed()] = None
    allowed_for: AllowedFor = ()


@frozen
class SecretValue:
    value: Annotated[Value, FormField("New value", "password")]


@frozen
class SecretUse:
    automation_id: Annotated[str, Text(1, 64), FormField("Automation", "name", of="automation")]


@frozen
class SecretUses:
    allowed_for: Told[tuple[str, ...]] = ()
    lapsed: Told[tuple[str, ...]] = ()


@frozen(kw_only=True)
class SecretRecord(SecretUses):
    """All that anybody is shown."""

    id: Told[str]
    name: Told[SecretName]
    created_at: Told[Since]
    updated_at: Told[Since]
    updated_by: Told[str]


@frozen(kw_only=True)
class SecretDone(SecretRecord):
    """The secret after what was done to it."""

    status: Told[Literal["created", "updated"]]
