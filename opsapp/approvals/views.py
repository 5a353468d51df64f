"""/api/approvals: what waits for people, and their decisions."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.web import api
from opsapp.web.paging import page_of

from . import engine, schemas
from .resources import Approval, Approvals


@api.get(Approvals, query=schemas.ApprovalQuery, returns=[schemas.ApprovalRecord])
def listing(context: Approvals, request: Request) -> Any:
    """What waits for a decision; with `status`, what was decided."""
    chosen = context.of_status(request.valid_query["status"])
    return request.shown([context.get(request_id).plain() for request_id in page_of(request, chosen)])


@api.get(Approval, returns=schemas.ApprovalRecord)
def show(context: Approval, request: Request) -> Any:
    """One request, with its plan and its votes."""
    return request.shown(context.plain())


@api.act(Approval, "approve", body=schemas.Decision, returns=schemas.Decided, audit="approval.approve")
def approve(context: Approval, request: Request) -> Any:
    """A vote for it; once there are enough, what was asked for begins."""
    return _decide(context, request, "approve")


@api.act(Approval, "reject", body=schemas.Decision, returns=schemas.Decided, audit="approval.reject")
def reject(context: Approval, request: Request) -> Any:
    """A decision against it: what was asked for is not done."""
    return _decide(context, request, "reject")


def _decide(context: Approval, request: Request, vote: str) -> Any:
    name, now = context.__name__, request.node.clock.now()
    voter = engine.Voter(request.caller.name, request.caller.role)
    own = engine.own_of(request.root, context, voter.name) is not None
    try:
        answer = engine.decide(request.root, name, voter, vote, request.valid_body["comment"], now)
    except engine.Lapsed as lapsed:
        request.after_abort(engine.lapse, name, lapsed.status, lapsed.why, now)
        raise
    request.audit(f"approval.{vote}", name, after=answer | ({"own_request": True} if own else {}))
    return answer
