"""Queries and smaller bodies of on call."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.lib.queries import LongQuery
from opsapp.maintenance.records import Wall
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, Text

from .records import ANSWERED, ENDED, OVER, RUNNING, UNANSWERED


@frozen
class OverrideGiven:
    """Its times are those of the service's clock, as in maintenance windows."""

    component: ClassVar[str] = "Override"
    sample: ClassVar[dict[str, str]] = {"user": "anna", "start": "2026-01-31T18:00:00", "end": "2026-02-01T09:00:00"}

    user: Annotated[str, Text(1, 64)]
    start: Wall
    end: Wall


@frozen
class CalendarMade:
    url: str  # with the token, shown this once


@frozen
class Removed:
    status: Literal["deleted"] = "deleted"


@frozen
class EscalationQuery(LongQuery):
    status: Annotated[str, Choice(RUNNING, ANSWERED, OVER, UNANSWERED, ENDED, "all")] = "all"
