"""Reading the audit record."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.audit.logic import AuditFilter, KeptEntry
from opsapp.tree.root import Root
from opsapp.web import api, files
from opsapp.web.answers import Deferred, Stream, later
from opsapp.web.fields import Paging, text, whole
from opsapp.wire.records import made

from . import engine, records, resources


class AuditQuery(Paging):
    limit = whole(1, 1000, default=100)
    user = text(1, 256, default=None)
    action = text(1, 200, default=None)
    target = text(1, 500, default=None)
    since = whole(0, 10**11, default=None)
    until = whole(0, 10**11, default=None)


@api.get(resources.Audit, role="admin", query=AuditQuery, returns=[records.AuditEntry])
def entries(context: resources.Audit, request: Request) -> list[records.AuditEntry]:
    """Newest first."""
    page, total = resources.read(request.root, AuditFilter(**request.valid_query))
    request.response.headers["X-Total-Count"] = str(total)
    return [made(records.AuditEntry, entry) for entry in page]


@api.get(resources.Audit, "file", role="admin", query=files.FileQuery, returns=files.EITHER)
def file(context: resources.Audit, request: Request) -> Stream:
    """The entries of a month as a file, newest first."""
    return files.of_month(request, "audit", files.columns_of(records.AuditEntry), _entries_of)


def _entries_of(root: Root, month: files.FilePage) -> list[KeptEntry]:
    wanted = AuditFilter(since=month.since, until=month.until, limit=month.limit, offset=month.offset)
    return resources.read(root, wanted, month.last)[0]


@api.get(resources.Audit, "verify", role="admin", returns=records.AuditVerdict)
def verify(context: resources.Audit, request: Request) -> Deferred:
    """Whether the record is whole: nothing changed, added or taken out but by its retention. `first_bad` is the entry
    from which on that is not certain."""
    node = request.node
    return later(lambda: engine.check_whole(node))
