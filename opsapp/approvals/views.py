"""/api/approvals: what waits for people, and their decisions."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.tree.damage import NAMELESS, Damage
from opsapp.web import api
from opsapp.web.listpages import counted

from . import engine, reach, schemas
from .records import STATUSES, ApprovalRecord, Decided, Verdict
from .resources import Approval, Approvals

MOST_OVER = 100  # of those that are over


@api.get(Approvals, query=schemas.ApprovalQuery, returns=[ApprovalRecord], teams="filtered")
def listing(context: Approvals, request: Request) -> Any:
    """What waits for a decision; with `status`, what was decided: a hundred of these where no limit is given.
    Who is in a team gets those of which it sees each host and monitor, among the first 2,000."""
    status, order, limit, offset = (request.valid_query[name] for name in ("status", "order", "limit", "offset"))
    limit, seen = limit or (None if status == "pending" else MOST_OVER), reach.seen_by(request.root, request.sight)
    ids, count = context.page(status, order, limit, offset, seen)
    rows = context.page_rows(ids, lambda approval: _shown(request, approval), lambda damage: _unread(damage, status))
    return request.shown(counted(request, rows, count))


def _unread(damage: Damage, status: str) -> ApprovalRecord:
    return ApprovalRecord(
        request_id=damage.id,
        kind="run",
        subject=NAMELESS,
        status=status if status in STATUSES else "expired",
        record=None,
        unreadable=damage.reason,
    )


def _shown(request: Request, approval: Approval) -> ApprovalRecord:
    record = engine.shown(request.root, approval, voter_of(request))
    return record if request.sight is None else reach.narrowed(record)


@api.get(Approval, returns=ApprovalRecord, teams="see")
def show(context: Approval, request: Request) -> Any:
    """One request, with its plan and its votes."""
    return request.shown(_shown(request, context))


@api.act(Approval, "approve", body=schemas.Decision, returns=Decided, audit="approval.approve", teams="approve")
def approve(context: Approval, request: Request) -> Any:
    """A vote for it; once there are enough, what was asked for begins."""
    return _decide(context, request, "approve")


@api.act(Approval, "reject", body=schemas.Decision, returns=Decided, audit="approval.reject", teams="approve")
def reject(context: Approval, request: Request) -> Any:
    """A decision against it: what was asked for is not done."""
    return _decide(context, request, "reject")


def voter_of(request: Request) -> engine.Voter:
    return engine.Voter(request.caller.name, request.caller.role, request.caller.kind == "session")


def _decide(context: Approval, request: Request, vote: Verdict) -> Any:
    name, now = context.__name__, request.now
    comment = request.valid_body["comment"]
    voted = engine.cast(request.root, name, voter_of(request), vote, comment, now, request.after_abort)
    request.audit(f"approval.{vote}", name, after=voted.told)
    return voted.decided
