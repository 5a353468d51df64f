"""The query and the answer of /api/audit."""

from __future__ import annotations

from opsapp.web.fields import Body, Paging, anything, text, whole
from opsapp.web.schemas import ChainAnswer


class AuditQuery(Paging):
    limit = whole(1, 1000, default=100)
    user = text(1, 256, default=None)
    action = text(1, 200, default=None)
    target = text(1, 500, default=None)
    since = whole(0, 10**11, default=None)
    until = whole(0, 10**11, default=None)


class AuditEntry(Body):
    id = text()
    time = whole()
    username = text(null=True)
    ip = text(null=True)
    action = text()
    target = text()
    result = text()
    reason = text(null=True)
    before = anything(null=True)
    after = anything(null=True)


class AuditVerdict(ChainAnswer):
    first_bad = text(null=True)
