"""Queries and smaller bodies of on call."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.lib.queries import LongQuery
from opsapp.maintenance.records import Wall
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Choice, Text

from .records import ANSWERED, ENDED, OVER, RUNNING, UNANSWERED


@dataclass(frozen=True)
class OverrideGiven:
    """Its times are those of the service's clock, as in maintenance windows."""

    component: ClassVar[str] = "Override"
    sample: ClassVar[dict[str, str]] = {"user": "anna", "start": "2026-01-31T18:00:00", "end": "2026-02-01T09:00:00"}

    user: Annotated[str, Text(1, 64)]
    start: Wall
    end: Wall


@dataclass(frozen=True)
class CalendarMade:
    url: str  # with the token, shown this once


@dataclass(frozen=True)
class Removed:
    status: Literal["deleted"] = "deleted"


@dataclass(frozen=True)
class EscalationQuery(LongQuery):
    status: Annotated[str, Choice(RUNNING, ANSWERED, OVER, UNANSWERED, ENDED, "all")] = "all"
