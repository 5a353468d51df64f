"""Automations and secrets as they are answered, each declared once: with what the service says of them beside what
people say (`logic.settings`).

Must not: know what is stored (`resources`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from opsapp.wire.kinds import Choice, Text, Whole
from opsapp.wire.records import AT_TIMES, Most, Told

from .logic.runs import STATUSES
from .logic.settings import AutomationSettings

Since = Annotated[int, Whole()]
SecretName = Annotated[str, Text(1, 64, r"[A-Za-z0-9][A-Za-z0-9_.-]*", "a word like deploy-token")]
AllowedFor = Annotated[tuple[Annotated[str, Text(1, 64)], ...], Most(1000, unique=True)]
IN_A_ROW = ("name", "type", "icon", "schedule", "timezone", "enabled")  # settings that lists show
STANDING = ("id", "last_run", "last_status", "next_run")  # what they show beside


@dataclass(frozen=True)
class AutomationRecord(AutomationSettings):
    id: Told[str] = ""
    last_run: Told[Since | None] = None
    last_status: Told[Annotated[str | None, Choice(*STATUSES)]] = None
    next_run: Told[Since | None] = None
    unreadable: Annotated[str, AT_TIMES] = ""
    created_at: Told[Since] = 0
    created_by: Told[str] = ""
    updated_at: Told[Since] = 0
    running: Told[str | None] = None
    queued: Told[Since] = 0
    needs_admin: Told[bool] = False  # it runs on the service's own machine as its own user: only admins write that


@dataclass(frozen=True)
class NewSecret:
    component: ClassVar[str] = "Secret"

    name: SecretName
    value: Annotated[str, Text(1, 20_000)]
    allowed_for: AllowedFor = ()


@dataclass(frozen=True)
class SecretValue:
    value: Annotated[str, Text(1, 20_000)]


@dataclass(frozen=True)
class SecretUse:
    automation_id: Annotated[str, Text(1, 64)]


@dataclass(frozen=True)
class SecretUses:
    allowed_for: Told[tuple[str, ...]] = ()
    lapsed: Told[tuple[str, ...]] = ()


@dataclass(frozen=True, kw_only=True)
class SecretRecord(SecretUses):
    """All that anybody is shown."""

    id: Told[str]
    name: Told[SecretName]
    created_at: Told[Since]
    updated_at: Told[Since]
    updated_by: Told[str]


@dataclass(frozen=True, kw_only=True)
class SecretDone(SecretRecord):
    """The secret after what was done to it."""

    status: Told[Literal["created", "updated"]]
