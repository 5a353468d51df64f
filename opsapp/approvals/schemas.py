"""Bodies and answers of approvals."""

from __future__ import annotations

from opsapp.web.fields import Body, Paging, anything, choice, field, list_of, map_of, text, whole

STATUSES = ("pending", "approved", "rejected", "expired", "withdrawn")


class Decision(Body):
    comment = text(0, 2000, default=None)


class ApprovalQuery(Paging):
    status = choice(*STATUSES, "decided", "all", default="pending")
    order = choice("oldest", "newest", default="oldest")


class Decided(Body):
    request_id = text()
    status = choice(*STATUSES)
    run_id = text(optional=True)
    ledger_id = whole(optional=True)


class Vote(Body):
    username = text()
    vote = choice("approve", "reject")
    at = whole()
    comment = text(0, 2000, null=True)


class TrackRecord(Body):
    """How often what is asked for has been done before, and how often it helped."""

    component = "TrackRecord"
    total = whole(0)
    helped = whole(0)


class ApprovalRecord(Body):
    request_id = text()
    kind = choice("run", "heal")
    subject = text()
    plan = map_of(anything())
    reason = text()
    risk = text(null=True)
    requested_by = text()
    requested_at = whole()
    expires_at = whole()
    approvers = list_of(text())
    quorum = whole()
    votes = list_of(Vote)
    status = choice(*STATUSES)
    decided_by = text(null=True)
    decided_at = whole(null=True)
    comment = text(null=True)
    run_id = text(optional=True)
    automation_id = text(optional=True)
    ledger_id = whole(optional=True)
    case_id = text(optional=True)
    digest = text(optional=True)
    refusal = text(null=True, optional=True)
    record = field(TrackRecord, null=True, optional=True)
    unreadable = text(optional=True)
