"""Notices put on the status page, changed and ended; and those that visitors see. Transactions."""

from __future__ import annotations

from dataclasses import replace

from opsapp.lib.pagenames import MAIN
from opsapp.lib.problems import Conflict
from opsapp.maintenance.engine import instant
from opsapp.monitoring.notices import MOST_OPEN, NoticeSettings, StatusNotice, StatusNotices, notices_of, notices_place
from opsapp.monitoring.records import SEVERITIES, PublicNotice
from opsapp.monitoring.shownon import ids_of
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of

EVENT = "status_page"


def put(root: Root, notices: StatusNotices, said: NoticeSettings, user: str, now: float) -> StatusNotice:
    if len(notices.open_ones(now)) >= MOST_OPEN:
        raise Conflict(f"At most {MOST_OPEN} notices may be open. End one first.", code="too_many_notices")
    said = replace(said, pages=ids_of(root, said.pages))
    notice = StatusNotice(said, _end_of(root, said.until), user, now)
    notices.add(notice, now)
    emit(root, EVENT, {"change": "notices"})
    return notice


def change(root: Root, notice: StatusNotice, said: NoticeSettings, now: float) -> None:
    _refuse_over(notice, now)
    said = replace(said, pages=ids_of(root, said.pages, notice.stored.pages))
    notice.fields, notice.ends_at = settings_of(said), _end_of(root, said.until)
    emit(root, EVENT, {"change": "notices"})


def end(root: Root, notices: StatusNotices, notice: StatusNotice, user: str, now: float) -> None:
    _refuse_over(notice, now)
    notices.end(notice, user, now)
    emit(root, EVENT, {"change": "notices"})


def drop(root: Root, notices: StatusNotices, notice: StatusNotice) -> None:
    notices.drop(notice)
    emit(root, EVENT, {"change": "notices"})


def put_back(root: Root, notice: StatusNotice) -> None:
    notices = notices_place(root)
    notices[notice.id] = notice
    if notice.over_at(now_of(root)) is None:
        notices.open.insert(notice.id)
    emit(root, EVENT, {"change": "notices"})


def wrong_end(root: Root, until: str | None, stored: str | None = None) -> dict[str, str]:
    """An end that is over already ends nothing; a stored one may come back with the whole record."""
    ends_at = _end_of(root, until) if until != stored else None
    over = ends_at is not None and ends_at <= now_of(root)
    return {"until": "must be in the future"} if over else {}


def shown(root: Root, now: float, only: frozenset[str] | None = None, page: str = MAIN) -> list[PublicNotice]:
    """The open ones as visitors of a page see them, the worst first."""
    notices = notices_of(root)
    open_ones = [] if notices is None else notices.on_page(page, now)
    rows = [notice.public() for notice in open_ones if only is None or notice.id in only]
    return sorted(rows, key=lambda row: SEVERITIES.index(row.severity), reverse=True)


def every_open(root: Root, now: float) -> list[StatusNotice]:
    """Of every page."""
    notices = notices_of(root)
    return [] if notices is None else notices.open_ones(now)


def _end_of(root: Root, until: str | None) -> float | None:
    return None if until is None else instant(until, node_of(root).config.timezone)


def _refuse_over(notice: StatusNotice, now: float) -> None:
    if notice.over_at(now) is not None:
        raise Conflict("This notice is over. Put a new one.", code="notice_over")
