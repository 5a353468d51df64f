"""/api/deployments"""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing.deployments import Deployment, DeploymentRecord, Deployments, DeploymentSettings
from opsapp.healing.engine import deployments as engine
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.fields import Paging
from opsapp.web.listpages import counted
from opsapp.web.schemas import Created, Deleted
from opsapp.wire.records import made

USUAL = 100  # of a list that grows with the years


def wrong(context: Deployments, request: Request, sound: Any) -> dict[str, str]:
    named = {kind: sound.get(kind) or () for kind in engine.KINDS}
    if request.sight is None:
        return engine.mistakes(request.root, named, sound.get("at"))
    seen = engine.reached(request.root, request.sight).named
    unknown = engine.mistakes(request.root, named, sound.get("at"), seen)
    return engine.misfits(request.root, request.sight, named) | unknown


@api.get(Deployments, query=Paging, returns=[DeploymentRecord], teams="filtered")
def list_deployments(context: Deployments, request: Request) -> list[DeploymentRecord]:
    """What was deployed, the newest first; 100 where no limit is given. Who is in a team gets what is about hosts and
    monitors that it sees, of the newest 2,000, and their names alone."""
    query = request.valid_query
    limit, offset = query["limit"] or USUAL, query["offset"]
    if request.sight is not None:
        return counted(request, *engine.page(context, engine.reached(request.root, request.sight), limit, offset))
    page, count = context.page(limit, offset)
    return counted(request, [deployment.record() for deployment in page], count)


@api.create(
    Deployments,
    body=DeploymentSettings,
    also=wrong,
    idempotent=True,
    returns=Created,
    audit="deployment.create",
    teams="filtered",
)
def post_deployment(context: Deployments, request: Request) -> Created:
    """Something was deployed: a mark on the axis of the hosts and monitors that are named (or have the tag, as
    `tag:NAME`), or of all. Without `at` it was now. Who is in a team names what the team may act on."""
    said, now = made(DeploymentSettings, request.valid_body), request.now
    deployment = engine.post(request.root, context, said, request.caller.name, now)
    request.audit("deployment.create", deployment.id, after=deployment.fields)
    return Created(deployment.id)


@api.get(Deployment, returns=DeploymentRecord, teams="see")
def show_deployment(context: Deployment, request: Request) -> DeploymentRecord:
    """One deployment."""
    if request.sight is None:
        return context.record()
    return engine.narrowed(context, engine.reached(request.root, request.sight))


@api.delete(Deployment, returns=Deleted, audit="deployment.delete", undoes=True, teams="act")
def delete_deployment(context: Deployment, request: Request) -> Deleted:
    """It is a mark no more: it was posted by mistake."""
    request.audit("deployment.delete", context.id, before=context.fields)
    context.__parent__.drop(context)
    undoable(request, "deployment", context.said.title, context.id, context)
    return Deleted()
