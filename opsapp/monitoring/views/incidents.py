"""/api/monitoring/incidents"""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.monitoring import schemas
from opsapp.monitoring.engine import changes, warroom
from opsapp.monitoring.resources import Incident, Incidents
from opsapp.tree.acl import Permission
from opsapp.web.fields import Paging


@view_config(
    context=Incidents,
    request_method="GET",
    permission=Permission.view,
    query=schemas.IncidentList,
    returns=[schemas.IncidentRecord],
    renderer="json",
)
def list_incidents(context: Incidents, request: Request) -> list[dict[str, Any]]:
    """Newest first."""
    query = request.valid_query
    incidents, count = context.page(query["status"], query["monitor_id"], query["limit"], query["offset"])
    request.response.headers["X-Total-Count"] = str(count)
    return request.shown([incident.record(request.node.clock.now()) for incident in incidents])


@view_config(
    context=Incident, request_method="GET", permission=Permission.view, returns=schemas.IncidentRecord, renderer="json"
)
def get_incident(context: Incident, request: Request) -> dict[str, Any]:
    """One incident with its updates."""
    return request.shown(context.record(request.node.clock.now()))


@view_config(
    context=Incident,
    name="acknowledge",
    request_method="POST",
    permission=Permission.operate,
    body=schemas.Acknowledgement,
    audit="incident.acknowledge",
    returns=schemas.Acknowledged,
    renderer="json",
)
def acknowledge(context: Incident, request: Request) -> dict[str, Any]:
    """Says that somebody looks after it."""
    note, user = request.valid_body["note"], request.caller.name
    changes.acknowledge(request.root, context, user, note, request.node.clock.now())
    request.audit("incident.acknowledge", context.id, after={"note": note})
    return {"status": "acknowledged"}


@view_config(
    context=Incident,
    name="updates",
    request_method="GET",
    permission=Permission.view,
    query=Paging,
    returns=[schemas.IncidentNote],
    renderer="json",
)
def list_updates(context: Incident, request: Request) -> list[dict[str, Any]]:
    """What people said of it, oldest first."""
    count, first = context.count_updates(), request.valid_query["offset"]
    limit = request.valid_query["limit"]
    request.response.headers["X-Total-Count"] = str(count)
    return context.updates_between(first, count if limit is None else min(count, first + limit))


@view_config(
    context=Incident,
    name="updates",
    request_method="POST",
    permission=Permission.operate,
    body=schemas.IncidentUpdate,
    audit="incident.update",
    returns=schemas.UpdateAdded,
    creates=True,
    renderer="json",
)
def add_update(context: Incident, request: Request) -> dict[str, Any]:
    """A message about it, for the status page too."""
    body, now = request.valid_body, request.node.clock.now()
    changes.add_update(request.root, context, request.caller.name, body["stage"], body["message"], now)
    request.audit("incident.update", context.id, after=body)
    return {"status": "created"}


@view_config(
    context=Incident, name="war-room", request_method="GET", permission=Permission.view, returns=schemas.WarRoom,
    renderer="json",
)  # fmt: skip
def war_room(context: Incident, request: Request) -> dict[str, Any]:
    """All that bears on an incident, in one answer."""
    return request.shown(warroom.context(request.node, request.root, context, secrets=request.may_edit))
