"""Bodies and answers of approvals."""

from __future__ import annotations

import colander

from opsapp.web.fields import Anything, Body, Choice, Flag, Nullable, Number, Paging, Text, Whole

STATUSES = ("pending", "approved", "rejected", "expired", "withdrawn")


class Decision(Body):
    comment = colander.SchemaNode(Text(0, 2000), missing=None)


class ApprovalQuery(Paging):
    status = colander.SchemaNode(Choice(*STATUSES, "all"), missing="pending")


class Decided(Body):
    request_id = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice(*STATUSES))
    run_id = colander.SchemaNode(Text(), missing=colander.drop)
    ledger_id = colander.SchemaNode(Whole(), missing=colander.drop)


class ApprovalRecord(Body):
    request_id = colander.SchemaNode(Text())
    kind = colander.SchemaNode(Choice("run", "heal"))
    subject = colander.SchemaNode(Text())
    plan = colander.SchemaNode(Anything())
    reason = colander.SchemaNode(Text())
    risk = colander.SchemaNode(Nullable(Text()))
    requested_by = colander.SchemaNode(Text())
    requested_at = colander.SchemaNode(Whole())
    expires_at = colander.SchemaNode(Whole())
    approvers = colander.SchemaNode(Anything())
    quorum = colander.SchemaNode(Whole())
    votes = colander.SchemaNode(Anything())
    status = colander.SchemaNode(Choice(*STATUSES))
    decided_by = colander.SchemaNode(Nullable(Text()))
    decided_at = colander.SchemaNode(Nullable(Whole()))
    comment = colander.SchemaNode(Nullable(Text()))
    run_id = colander.SchemaNode(Text(), missing=colander.drop)
    automation_id = colander.SchemaNode(Text(), missing=colander.drop)
    ledger_id = colander.SchemaNode(Whole(), missing=colander.drop)
    case_id = colander.SchemaNode(Text(), missing=colander.drop)


class ApprovalsSection(Body):
    """`approvals` of the YAML file."""

    expiry_s = colander.SchemaNode(Number(1, 30 * 86400), missing=3600)
    strict = colander.SchemaNode(Flag(), missing=False)
