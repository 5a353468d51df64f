"""Queries and answers of /api/monitoring; those of its reports are in reportschemas.py. A monitor is declared in
`logic.settings` and `records`."""

from __future__ import annotations

from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.logic.statuspage import OVERALL
from opsapp.monitoring.notices import PublicNotice
from opsapp.monitoring.records import INCIDENT_STAGES
from opsapp.web.declared import answer_of
from opsapp.web.fields import AsOf, Body, Paging, choice, field, flag, list_of, number, text, whole
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


class IncidentOpened(Body):
    id = ID
    status = choice("created")


class IncidentEnd(Body):
    note = text(0, 5000, default="")


class IncidentEnded(Body):
    status = choice("resolved")


class Acknowledgement(Body):
    note = text(0, 5000, default="")


class Acknowledged(Body):
    status = choice("acknowledged")


class IncidentOwner(Body):
    username = text(1, 64)
    note = text(0, 5000, default="")


class IncidentAssigned(Body):
    status = choice("assigned")


class IncidentUpdate(Body):
    stage = choice(*INCIDENT_STAGES)
    message = text(1, 5000)
    public = flag(default=True)


class UpdateAdded(Body):
    status = choice("created")


class PostMortem(Body):
    name = text()
    markdown = text(0, 10**7)


class PushTaken(Body):
    status = choice("ok")


class NoticeList(Paging):
    status = choice("open", "ended", "all", default="all")


class NoticePut(Body):
    id = text()
    status = choice("created")


class NoticeEnded(Body):
    status = choice("ended")


class PublicNote(Body):
    time = whole()
    stage = choice(*INCIDENT_STAGES)
    message = text(0, 5000)


class PublicIncident(Body):
    id = ID
    monitor_id = ID
    monitor_name = text()
    started = whole()
    resolved = whole(null=True)
    duration_minutes = number(0)
    status = choice("open", "resolved")
    part_of = text(null=True)
    updates = list_of(PublicNote)


class StatusDay(Body):
    date = text()
    uptime = number(0, 100, null=True)
    incidents = whole(0)


class StatusComponent(Body):
    id = ID
    name = text()
    status = choice(*STATUSES)
    down_in_window = flag()
    uptime_90d = number(0, 100, null=True)
    incidents = list_of(PublicIncident)
    days = list_of(StatusDay)


class PublicWindow(Body):
    name = text()
    start = whole()
    end = whole()
    active = flag()
    monitors = list_of(text())


class IncidentDay(Body):
    date = text()
    incidents = list_of(PublicIncident)


class StatusDocument(Body):
    overall = choice(*OVERALL)
    notices = list_of(answer_of(PublicNotice))
    monitors = list_of(StatusComponent)
    active_incidents = list_of(PublicIncident)
    maintenance = list_of(PublicWindow)
    history = list_of(IncidentDay)
    generated_at = whole()
