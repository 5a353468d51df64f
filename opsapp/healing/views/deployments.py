"""/api/deployments"""

from __future__ import annotations

from pyramid.request import Request

from opsapp.healing.deployments import Deployment, DeploymentRecord, Deployments, DeploymentSettings
from opsapp.healing.engine import deployments as engine
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.fields import Paging
from opsapp.web.schemas import Created, Deleted
from opsapp.wire.records import made

USUAL = 100  # of a list that grows with the years


@api.get(Deployments, query=Paging, returns=[DeploymentRecord])
def list_deployments(context: Deployments, request: Request) -> list[DeploymentRecord]:
    """What was deployed, the newest first; 100 where no limit is given."""
    query = request.valid_query
    page, count = context.page(query["limit"] or USUAL, query["offset"])
    request.response.headers["X-Total-Count"] = str(count)
    return [deployment.record() for deployment in page]


@api.create(
    Deployments,
    body=DeploymentSettings,
    also=lambda context, request, sound: engine.mistakes(
        request.root, {kind: sound.get(kind) or () for kind in engine.KINDS}, sound.get("at")
    ),
    idempotent=True,
    returns=Created,
    audit="deployment.create",
)
def post_deployment(context: Deployments, request: Request) -> Created:
    """Something was deployed: a mark on the axis of the hosts and monitors that are named (or have the tag, as
    `tag:NAME`), or of all. Without `at` it was now."""
    said, now = made(DeploymentSettings, request.valid_body), request.node.clock.now()
    deployment = engine.post(request.root, context, said, request.caller.name, now)
    request.audit("deployment.create", deployment.id, after=deployment.fields)
    return Created(deployment.id)


@api.get(Deployment, returns=DeploymentRecord)
def show_deployment(context: Deployment, request: Request) -> DeploymentRecord:
    """One deployment."""
    return context.record()


@api.delete(Deployment, returns=Deleted, audit="deployment.delete", undoes=True)
def delete_deployment(context: Deployment, request: Request) -> Deleted:
    """It is a mark no more: it was posted by mistake."""
    request.audit("deployment.delete", context.id, before=context.fields)
    context.__parent__.drop(context)
    undoable(request, "deployment", context.said.title, context.id, context)
    return Deleted()
