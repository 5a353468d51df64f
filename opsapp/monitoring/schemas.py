"""Queries and answers of /api/monitoring; those of its reports are in reportschemas.py. A monitor is declared in
`logic.settings` and `records`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from opsapp.monitoring.logic.settings import Id
from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.records import INCIDENT_STAGES
from opsapp.web.fields import AsOf, Body, Paging, choice, field, flag, list_of, text, whole
from opsapp.wire.monitortypes import TYPES

TAG = text(1, 64)
ID = text(1, 64, pattern=r"[a-z0-9]+", example="0123456789abcdef")
SORTS = ("name", "worst", "response", "uptime")


class MonitorList(AsOf, Paging):
    ids = list_of(ID, 100, default=None)  # these alone
    q = text(0, 200, default="")
    status = choice(*STATUSES, default=None)
    tag = field(TAG, default=None)
    type = choice(*TYPES, default=None)
    sort = choice(*SORTS, *("-" + name for name in SORTS), default="name")
    recent = whole(0, 100, default=0)


class IncidentList(Paging):
    limit = whole(1, 1000, default=50)
    status = choice("open", "resolved", "all", default="all")
    monitor_id = field(ID, default=None)
    owner = text(1, 64, default=None)
    q = text(0, 200, default=None)
    severity = choice("critical", "error", "warning", "info", default=None)
    kind = choice("monitor", "event", "by_hand", default=None)
    tag = text(1, 64, default=None)


class NewIncident(Body):
    """One that a person opens: nothing measures it, so a person ends it."""

    name = text(1, 200, example="The phones do not work")
    target = text(0, 200, default="")
    description = text(0, 5000, default="")
    severity = choice("critical", "warning", "info", default="critical")


@dataclass(frozen=True)
class IncidentOpened:
    id: Id
    status: Literal["created"] = "created"


class IncidentEnd(Body):
    note = text(0, 5000, default="")


@dataclass(frozen=True)
class IncidentEnded:
    status: Literal["resolved"] = "resolved"


class Acknowledgement(Body):
    note = text(0, 5000, default="")


@dataclass(frozen=True)
class Acknowledged:
    status: Literal["acknowledged"] = "acknowledged"


class IncidentOwner(Body):
    username = text(1, 64)
    note = text(0, 5000, default="")


@dataclass(frozen=True)
class IncidentAssigned:
    status: Literal["assigned"] = "assigned"


class IncidentUpdate(Body):
    stage = choice(*INCIDENT_STAGES)
    message = text(1, 5000)
    public = flag(default=True)


@dataclass(frozen=True)
class UpdateAdded:
    status: Literal["created"] = "created"


class PostMortem(Body):
    name = text()
    markdown = text(0, 10**7)


@dataclass(frozen=True)
class PushTaken:
    status: Literal["ok"] = "ok"


class NoticeList(Paging):
    status = choice("open", "ended", "all", default="all")


@dataclass(frozen=True)
class NoticePut:
    id: str
    status: Literal["created"] = "created"


@dataclass(frozen=True)
class NoticeEnded:
    status: Literal["ended"] = "ended"
