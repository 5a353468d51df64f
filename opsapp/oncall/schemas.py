"""Queries and smaller bodies of on call; `opsapp.oncall.records` declares the things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from opsapp.maintenance.records import Wall
from opsapp.web.fields import Body, Paging, choice, text, whole
from opsapp.wire.kinds import Text

from .records import ANSWERED, ENDED, OVER, RUNNING, UNANSWERED


@dataclass(frozen=True)
class OverrideGiven:
    """Who is on call for a while. Times are by the service's clock, as those of maintenance windows."""

    component: ClassVar[str] = "Override"
    sample: ClassVar[dict[str, str]] = {"user": "anna", "start": "2026-01-31T18:00:00", "end": "2026-02-01T09:00:00"}

    user: Annotated[str, Text(1, 64)]
    start: Wall
    end: Wall


class CalendarMade(Body):
    url = text()  # with the token, shown this once


@dataclass(frozen=True)
class Removed:
    status: Literal["deleted"] = "deleted"


class ScheduleQuery(Paging):
    q = text(0, 200, default=None)


class ShiftQuery(Paging):
    since = whole(0, 10**10, default=None)
    until = whole(0, 10**10, default=None)


class EscalationQuery(Paging):
    status = choice(RUNNING, ANSWERED, OVER, UNANSWERED, ENDED, "all", default="all")
    limit = whole(1, 1000, default=100)
