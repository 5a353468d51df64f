"""Notices put on the status page, changed and ended; and those that visitors see. Transactions."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.maintenance.engine import instant
from opsapp.monitoring.notices import MOST_OPEN, SAID, StatusNotice, StatusNotices, notices_of
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

EVENT = "status_page"
WORST_FIRST = ("critical", "warning", "info")


def put(root: Root, notices: StatusNotices, given: JsonObject, user: str, now: float) -> StatusNotice:
    if len(notices.open_ones(now)) >= MOST_OPEN:
        raise Conflict(f"At most {MOST_OPEN} notices may be open. End one first.", code="too_many_notices")
    fields = {name: given[name] for name in SAID}
    notice = StatusNotice(fields, _end_of(root, fields["until"]), user, now)
    notices.add(notice, now)
    emit(root, EVENT, {"change": "notices"})
    return notice


def change(root: Root, notice: StatusNotice, given: JsonObject, now: float) -> None:
    """What is given over what is stored."""
    _refuse_over(notice, now)
    notice.fields = {**notice.fields, **{name: given[name] for name in SAID if name in given}}
    notice.ends_at = _end_of(root, notice.fields["until"])
    emit(root, EVENT, {"change": "notices"})


def end(root: Root, notices: StatusNotices, notice: StatusNotice, user: str, now: float) -> None:
    _refuse_over(notice, now)
    notices.end(notice, user, now)
    emit(root, EVENT, {"change": "notices"})


def drop(root: Root, notices: StatusNotices, notice: StatusNotice) -> None:
    notices.drop(notice)
    emit(root, EVENT, {"change": "notices"})


def wrong_end(root: Root, given: JsonObject, stored: str | None = None) -> dict[str, str]:
    """An end that is over already ends nothing; one that is stored may come back with the whole record."""
    until = given.get("until")
    ends_at = _end_of(root, until) if until != stored else None
    over = ends_at is not None and ends_at <= node_of(root).clock.now()
    return {"until": "must be in the future"} if over else {}


def shown(root: Root, now: float, only: frozenset[str] | None = None) -> list[JsonObject]:
    """The open ones as visitors see them, the worst first. `only` these, where that is said."""
    notices = notices_of(root)
    open_ones = [] if notices is None else notices.open_ones(now)
    rows = [_public(notice) for notice in open_ones if only is None or notice.id in only]
    return sorted(rows, key=lambda row: WORST_FIRST.index(row["severity"]))


def _public(notice: StatusNotice) -> JsonObject:
    said = {name: notice.fields[name] for name in ("title", "text", "severity")}
    ends_at = None if notice.ends_at is None else int(notice.ends_at)
    return {"id": notice.id, **said, "started": notice.created_at, "ends_at": ends_at}


def _end_of(root: Root, until: str | None) -> float | None:
    return None if until is None else instant(until, node_of(root).config.timezone)


def _refuse_over(notice: StatusNotice, now: float) -> None:
    if notice.over_at(now) is not None:
        raise Conflict("This notice is over. Put a new one.", code="notice_over")
