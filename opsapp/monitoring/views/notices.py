"""/api/monitoring/notices"""

from __future__ import annotations

from pyramid.request import Request

from opsapp.monitoring import schemas
from opsapp.monitoring.engine import notices as engine
from opsapp.monitoring.notices import NoticeRecord, NoticeSettings, StatusNotice, StatusNotices
from opsapp.monitoring.queries import NoticeQuery
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.listpages import counted
from opsapp.web.schemas import Deleted, Updated
from opsapp.wire.records import changed, made, settings_of


@api.get(StatusNotices, query=NoticeQuery, returns=[NoticeRecord])
def list_notices(context: StatusNotices, request: Request) -> list[NoticeRecord]:
    """Notices on the status page, newest first; of those that are over the last 500."""
    query, now = made(NoticeQuery, request.valid_query), request.now
    page, count = context.page(query.status, query.limit, query.offset, now)
    return counted(request, [notice.record(now) for notice in page], count)


@api.create(
    StatusNotices,
    body=NoticeSettings,
    also=lambda context, request, sound: engine.wrong_end(request.root, sound.get("until")),
    returns=schemas.NoticePut,
    audit="notice.create",
)
def put_notice(context: StatusNotices, request: Request) -> schemas.NoticePut:
    """Visitors of the status page read it at once, until it is ended or its time comes. At most 50 are open."""
    said, now = made(NoticeSettings, request.valid_body), request.now
    notice = engine.put(request.root, context, said, request.caller.name, now)
    request.audit("notice.create", notice.id, after=settings_of(notice.said))
    return schemas.NoticePut(notice.id)


@api.get(StatusNotice, returns=NoticeRecord)
def show_notice(context: StatusNotice, request: Request) -> NoticeRecord:
    """One notice."""
    return context.record(request.now)


@api.update(
    StatusNotice,
    body=NoticeSettings,
    also=lambda notice, request, sound: engine.wrong_end(request.root, sound.get("until"), notice.said.until),
    read_only=NoticeRecord,
    returns=Updated,
    audit="notice.update",
)
def change_notice(context: StatusNotice, request: Request) -> Updated:
    """Changes what is given, and leaves the rest."""
    before = settings_of(context.said)
    engine.change(request.root, context, changed(context.said, request.valid_body), request.now)
    request.audit("notice.update", context.id, before=before, after=settings_of(context.said))
    return Updated()


@api.act(StatusNotice, "end", returns=schemas.NoticeEnded, audit="notice.end")
def end_notice(context: StatusNotice, request: Request) -> schemas.NoticeEnded:
    """Visitors do not see it any more."""
    now = request.now
    engine.end(request.root, context.__parent__, context, request.caller.name, now)
    request.audit("notice.end", context.id)
    return schemas.NoticeEnded()


@api.delete(StatusNotice, returns=Deleted, audit="notice.delete", undoes=True)
def delete_notice(context: StatusNotice, request: Request) -> Deleted:
    """Gone from the page and from the list."""
    request.audit("notice.delete", context.id, before=settings_of(context.said))
    engine.drop(request.root, context.__parent__, context)
    undoable(request, "notice", context.said.title, context.id, context)
    return Deleted()
