"""/api/monitoring/incidents"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

from pyramid.request import Request

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring import schemas
from opsapp.monitoring.engine import changes, toldtroubles, warroom
from opsapp.monitoring.engine.incident_list import incident_rows, with_causes
from opsapp.monitoring.engine.incidentpages import page_before
from opsapp.monitoring.engine.retention import archived_incidents
from opsapp.monitoring.logic import postmortem
from opsapp.monitoring.queries import IncidentQuery
from opsapp.monitoring.records import IncidentNote, IncidentRecord, WarRoom
from opsapp.monitoring.resources import Incident, Incidents, incidents_of
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root
from opsapp.web import api, files
from opsapp.web.answers import Stream
from opsapp.web.fields import Paging
from opsapp.web.listpages import counted, slice_of
from opsapp.web.refusals import NEXT
from opsapp.web.schemas import ArchiveAnswer, ArchiveQuery
from opsapp.wire.records import made, parts_of, plain

from . import teams

COLUMNS = [part.name for part in parts_of(IncidentRecord)]
COLUMNS.insert(COLUMNS.index("updates"), COLUMNS.pop())  # the root cause, before what people said


@api.get(Incidents, query=IncidentQuery, returns=[IncidentRecord], teams="filtered")
def list_incidents(context: Incidents, request: Request) -> list[IncidentRecord]:
    """Newest first. `q`, `owner`, `severity`, `kind` and `tag` choose among the newest 2,000; incidents of monitors
    have no severity, and the tags that the monitor had when they began. Who is in a team gets those of monitors that it
    sees, of the newest 2,000 too, without root causes. Pages that go on `before` an incident stay as they are while new
    ones come: `X-Next` names it for the next page, and `offset` has no meaning. A filter then looks into 2,000
    incidents for each page, and `X-Total-Count` is how many of them it chose. With `together`, `limit` counts lines:
    incidents that are alike and began together are one line, and a page does not end inside of one where that can be
    avoided. It has about 1,000 incidents at most."""
    query, now = made(IncidentQuery, request.valid_query), request.now
    if query.before is not None or query.together:
        return _page_before(context, query, request, now)
    ids, count = context.page(query, teams.seen_monitors(request))
    return counted(request, _shown(request, incident_rows(context, ids, now), now), count)


def _page_before(context: Incidents, query: IncidentQuery, request: Request, now: float) -> list[IncidentRecord]:
    page = page_before(context, query, teams.seen_monitors(request), now)
    if page.following is not None:
        request.response.headers[NEXT] = page.following
    return counted(request, _shown(request, page.rows, now), page.total)


def _shown(request: Request, rows: list[IncidentRecord], now: float) -> list[IncidentRecord]:
    rows = _without_causes(rows)
    shown: list[IncidentRecord] = request.shown(with_causes(request.root, rows, now) if request.sight is None else rows)
    return shown


def _without_causes(rows: list[IncidentRecord]) -> list[IncidentRecord]:
    return [replace(row, root_cause=None) for row in rows]


@api.get(Incidents, "file", query=files.FileQuery, returns=files.EITHER, teams="filtered")
def file(context: Incidents, request: Request) -> Stream:
    """The incidents that began in a month, as a file, newest first; for who is in a team as in the list."""
    read = partial(_incidents_of, seen=teams.seen_monitors(request))
    return files.of_month(request, "incidents", COLUMNS, read)


def _incidents_of(root: Root, month: files.FilePage, seen: Collection[str] | None) -> list[IncidentRecord]:
    incidents, now = incidents_of(root), now_of(root)
    ids = incidents.begun(month.since, month.until, seen)
    ids = [incident_id for incident_id in ids if month.last is None or incident_id < month.last]
    rows = _without_causes(incident_rows(incidents, ids[: month.limit], now))
    return with_causes(root, rows, now) if seen is None else rows


@api.get(Incidents, "archive", role="admin", query=ArchiveQuery, returns=ArchiveAnswer)
def archive(context: Incidents, request: Request) -> JsonObject:
    """A page of the incidents that are over, for `opsapp export --archive`. Addresses are masked."""
    return archived_incidents(request.root, request.valid_query["after"])._asdict()


@api.create(Incidents, body=schemas.NewIncident, returns=schemas.IncidentOpened, audit="incident.open")
def open_incident(context: Incidents, request: Request) -> schemas.IncidentOpened:
    """One that nothing here measures. It is told, and ends by hand. Visitors of the status pages that it names read its
    name and its public updates."""
    body, now = request.valid_body, request.now
    opened = made(schemas.NewIncident, body)
    incident_id = toldtroubles.open_told(request.root, opened.told_by(request.caller.name), now, opened.pages)
    request.audit("incident.open", incident_id, after=body)
    return schemas.IncidentOpened(incident_id)


@api.act(
    Incident, "resolve", body=schemas.IncidentEnd, returns=schemas.IncidentEnded, audit="incident.end", teams="act"
)
def resolve(context: Incident, request: Request) -> schemas.IncidentEnded:
    """The end of one that was opened by hand."""
    note, now = made(schemas.IncidentEnd, request.valid_body).note, request.now
    toldtroubles.close_by_hand(request.root, context, request.caller.name, note, now)
    request.audit("incident.end", context.id, after={"name": context.monitor_name, "note": note})
    return schemas.IncidentEnded()


@api.get(Incident, returns=IncidentRecord, teams="see")
def get_incident(context: Incident, request: Request) -> Any:
    """One incident with its updates."""
    return request.shown(context.record(request.now))


@api.act(
    Incident,
    "acknowledge",
    body=schemas.Acknowledgement,
    returns=schemas.Acknowledged,
    audit="incident.acknowledge",
    teams="act",
)
def acknowledge(context: Incident, request: Request) -> schemas.Acknowledged:
    """Says that somebody looks after it."""
    note, user = made(schemas.Acknowledgement, request.valid_body).note, request.caller.name
    changes.acknowledge(request.root, context, user, note, request.now)
    request.audit("incident.acknowledge", context.id, after={"name": context.monitor_name, "note": note})
    return schemas.Acknowledged()


@api.act(
    Incident,
    "assign",
    body=schemas.IncidentOwner,
    returns=schemas.IncidentAssigned,
    audit="incident.assign",
    teams="act",
)
def assign(context: Incident, request: Request) -> schemas.IncidentAssigned:
    """Gives it to somebody; oneself, too, when another one has it."""
    said, user = made(schemas.IncidentOwner, request.valid_body), request.caller.name
    changes.assign(request.root, context, user, said.username, said.note, request.now)
    request.audit("incident.assign", context.id, after=plain(said) | {"name": context.monitor_name})
    return schemas.IncidentAssigned()


@api.get(Incident, "updates", query=Paging, returns=[IncidentNote], teams="see")
def list_updates(context: Incident, request: Request) -> list[IncidentNote]:
    """What people said of it, oldest first."""
    page, count = slice_of(request), context.count_updates()
    last = count if page.stop is None else min(count, page.stop)
    return counted(request, context.updates_between(page.start, last), count)


@api.create(
    Incident, "updates", body=schemas.IncidentUpdate, returns=schemas.UpdateAdded, audit="incident.update", teams="act"
)
def add_update(context: Incident, request: Request) -> schemas.UpdateAdded:
    """A message about it; with `public`, for visitors of the status page too."""
    said, now, user = made(schemas.IncidentUpdate, request.valid_body), request.now, request.caller.name
    changes.add_update(request.root, context, user, said.stage, said.message, now, public=said.public)
    request.audit("incident.update", context.id, after=plain(said) | {"name": context.monitor_name})
    return schemas.UpdateAdded()


@api.get(Incident, "war-room", returns=WarRoom, teams="see")
def war_room(context: Incident, request: Request) -> Any:
    """All that bears on an incident, in one answer."""
    return _known_of(context, request)


@api.get(Incident, "post-mortem", returns=schemas.PostMortem, teams="see")
def post_mortem(context: Incident, request: Request) -> schemas.PostMortem:
    """What happened as a Markdown document to go on writing: facts, timeline, heals, open points."""
    now = request.now
    known = _known_of(context, request)
    return schemas.PostMortem(postmortem.file_name(known.incident), postmortem.document(known, now))


def _known_of(incident: Incident, request: Request) -> WarRoom:
    asked = {"secrets": request.may_edit, "sight": request.sight}
    known: WarRoom = request.shown(warroom.context(request.node, request.root, incident, **asked))
    shown = None if known.monitor is None else teams.narrowed(request, known.monitor)
    return known if shown is known.monitor else replace(known, monitor=shown)
