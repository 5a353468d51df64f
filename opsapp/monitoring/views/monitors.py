"""/api/monitoring/endpoints and the push addresses."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from opsapp.lib.problems import NotFound
from opsapp.monitoring import schemas
from opsapp.monitoring.engine import changes, listing, past, pushes
from opsapp.monitoring.logic.settings import MonitoringSettings, complete
from opsapp.monitoring.resources import Monitor, Monitors, PushAddress
from opsapp.tree.acl import Permission
from opsapp.web.derivers import RAW
from opsapp.web.fields import AsOf


@view_config(
    context=Monitors,
    request_method="GET",
    permission=Permission.view,
    query=schemas.MonitorList,
    returns=[schemas.MonitorRecord],
    renderer="json",
)
def list_monitors(context: Monitors, request: Request) -> list[dict[str, Any]]:
    """Answered from memory, however many there are; as of a time, from the tree of that time."""
    query, secrets = request.valid_query, request.may_edit
    if query["as_of"] is not None:
        records, count = request.node.transact_at(query["as_of"], past.page, query, secrets)
    else:
        records, count = listing.page(request.node, request.root, query, secrets=secrets)
    request.response.headers["X-Total-Count"] = str(count)
    return records


@view_config(
    context=Monitors,
    request_method="POST",
    permission=Permission.operate,
    body=schemas.NewMonitor,
    also=lambda monitors, request, sound: changes.unknown_agents(request.root, sound, {}),
    audit="monitor.create",
    returns=schemas.Created,
    creates=True,
    renderer="json",
)
def create_monitor(context: Monitors, request: Request) -> dict[str, Any]:
    """A new monitor."""
    node = request.node
    settings = complete(request.valid_body, node.config[MonitoringSettings].defaults)
    monitor_id = changes.create(request.root, settings, node.series.numbers.take()[0], node.clock.now())
    request.audit("monitor.create", monitor_id, after=settings)
    return {"id": monitor_id, "status": "created"}


@view_config(
    context=Monitor,
    request_method="GET",
    permission=Permission.view,
    query=AsOf,
    returns=schemas.MonitorRecord,
    renderer="json",
)
def get_monitor(context: Monitor, request: Request) -> dict[str, Any]:
    """One monitor."""
    at = request.valid_query["as_of"]
    if at is not None:
        return request.node.transact_at(at, past.one, context.id, request.may_edit)
    return listing.one(request.node, request.root, context.id, secrets=request.may_edit)


@view_config(
    context=Monitor,
    request_method="PUT",
    permission=Permission.operate,
    body=schemas.MonitorSettings,
    also=lambda monitor, request, sound: changes.misfits(request.root, monitor, sound),
    partial=True,
    stored=lambda monitor: monitor.settings,
    audit="monitor.update",
    read_only=schemas.READ_ONLY,
    returns=schemas.Updated,
    renderer="json",
)
def update_monitor(context: Monitor, request: Request) -> dict[str, Any]:
    """Changes what is given, and leaves the rest."""
    before = context.settings
    changes.update(request.root, context, request.valid_body, request.node.clock.now())
    request.audit("monitor.update", context.id, before=before, after=context.settings)
    return {"status": "updated"}


@view_config(
    context=Monitor,
    request_method="DELETE",
    permission=Permission.administer,
    audit="monitor.delete",
    returns=schemas.Deleted,
    renderer="json",
)
def delete_monitor(context: Monitor, request: Request) -> dict[str, Any]:
    """The monitor is gone with its history."""
    changes.delete(request.root, context, request.node.clock.now())
    request.audit("monitor.delete", context.id, before=context.settings)
    return {"status": "deleted"}


@view_config(
    context=PushAddress,
    request_method=("GET", "POST"),
    permission=NO_PERMISSION_REQUIRED,
    body=RAW,
    audit=False,
    returns=schemas.PushTaken,
    renderer="json",
)
def take_push(context: PushAddress, request: Request) -> dict[str, Any]:
    """The address is the secret; what is sent with it does not matter."""
    if context.monitor_id is None:
        raise NotFound("There is nothing here.")
    request.node.spawn(pushes.called, request.node, context.monitor_id)
    return {"status": "ok"}
