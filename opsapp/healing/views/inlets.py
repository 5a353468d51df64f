"""Inlets, and the events that come by them: the token in the path is the secret."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import answers, schemas
from opsapp.healing.engine import inlets as engine
from opsapp.healing.engine import toldevents
from opsapp.healing.inlet_answers import EventRecord, EventsTaken, InletMade, InletRecord, InletSettings, InletUpdated
from opsapp.healing.resources.inlets import EventAddress, Inlet, Inlets
from opsapp.lib.problems import NotFound
from opsapp.web import api
from opsapp.web.bodies import RAW, require_plain_json
from opsapp.web.deletions import undoable
from opsapp.web.fields import Paging
from opsapp.web.listpages import counted, page_of
from opsapp.wire.records import extended

from . import eventbodies


@api.get(Inlets, role="admin", query=Paging, returns=[InletRecord])
def inlets(context: Inlets, request: Request) -> Any:
    """By what other systems send events, and how many of these go on; without their tokens."""
    return page_of(request, toldevents.shown(request.root, context.values()))


@api.create(Inlets, role="admin", body=InletSettings, returns=InletMade)
def create(context: Inlets, request: Request) -> Any:
    """A new inlet. Its token is shown this once."""
    body, now = request.valid_body, request.now
    new = engine.create(request.root, body["name"], body["mapping"] or {}, request.caller.name, now)
    request.audit("healing.inlet.create", new.inlet.__name__, after=new.inlet.describe())
    [record] = toldevents.shown(request.root, [new.inlet])
    return extended(InletMade, record, token=new.token, url=f"/api/healing/events/{new.token}")


@api.update(Inlet, role="admin", body=InletSettings, read_only=InletRecord, returns=InletUpdated)
def change(context: Inlet, request: Request) -> Any:
    """Another name or mapping. The token stays; what the inlet has sent is about what the new mapping says."""
    before, body = context.describe(), request.valid_body
    engine.change(request.root, context, body.get("name"), body.get("mapping"))
    request.audit("healing.inlet.update", context.__name__, before=before, after=context.describe())
    [record] = toldevents.shown(request.root, [context])
    return extended(InletUpdated, record)


@api.get(Inlet, "events", role="admin", query=schemas.EventList, returns=[EventRecord])
def events(context: Inlet, request: Request) -> Any:
    """What it has sent, the newest word first, and what became of it."""
    query = request.valid_query
    listed = toldevents.listed(request.root, context, query["limit"], query["offset"])
    return counted(request, listed.rows, listed.total)


@api.delete(Inlet, role="admin", returns=answers.Status, undoes=True)
def remove(context: Inlet, request: Request) -> Any:
    """The end of an inlet: its token is refused, and what it has sent counts no more."""
    request.audit("healing.inlet.delete", context.__name__, before=context.describe())
    engine.remove(request.root, context)
    undoable(request, "inlet", context.name, context.__name__, context)
    return {"status": "deleted"}


@api.act(EventAddress, role="public", body=RAW, takes=schemas.SentBody, returns=EventsTaken, audit=False)
def take(context: EventAddress, request: Request) -> Any:
    """Takes the events of another system. The last word about each is stored before the answer; what is no event is
    named in it, and costs none of the others."""
    inlet = engine.inlet_of(request.root, context.__name__)
    if inlet is None:
        raise NotFound("There is no such inlet.")
    require_plain_json(request)
    return eventbodies.received(request, inlet)
