"""The query of /api/audit; `records` has what it answers."""

from __future__ import annotations

from opsapp.web.fields import Paging, text, whole


class AuditQuery(Paging):
    limit = whole(1, 1000, default=100)
    user = text(1, 256, default=None)
    action = text(1, 200, default=None)
    target = text(1, 500, default=None)
    since = whole(0, 10**11, default=None)
    until = whole(0, 10**11, default=None)
