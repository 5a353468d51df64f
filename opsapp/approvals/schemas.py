"""Bodies and queries of approvals."""

from __future__ import annotations

from opsapp.web.fields import Body, Paging, choice, text

from .records import STATUSES


class Decision(Body):
    comment = text(0, 2000, default=None)


class ApprovalQuery(Paging):
    status = choice(*STATUSES, "decided", "all", default="pending")
    order = choice("oldest", "newest", default="oldest")
