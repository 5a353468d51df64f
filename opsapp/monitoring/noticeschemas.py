"""Bodies, queries and answers of /api/monitoring/notices."""

from __future__ import annotations

from opsapp.maintenance.engine import wall_problem
from opsapp.web.fields import Body, Paging, choice, text, whole, with_settings

SEVERITIES = ("info", "warning", "critical")


class NewNotice(Body):
    """What visitors of the status page read until somebody ends it, or its time comes."""

    sample = {"title": "The phones move on Sunday", "severity": "info"}
    title = text(1, 200)
    said = text(0, 5000, default="", name="text")
    severity = choice(*SEVERITIES, default="info")
    until = text(1, 40, check=lambda wall: wall and wall_problem(wall), null=True, default=None)


@with_settings(NewNotice)
class NoticeRecord(Body):
    id = text()
    ends_at = whole(0, null=True)
    status = choice("open", "ended")
    created_at = whole(0)
    created_by = text()
    ended_at = whole(0, null=True)
    ended_by = text(null=True)


class NoticeList(Paging):
    status = choice("open", "ended", "all", default="all")


class NoticePut(Body):
    id = text()
    status = choice("created")


class NoticeEnded(Body):
    status = choice("ended")


class PublicNotice(Body):
    """As visitors see it."""

    id = text()
    title = text()
    said = text(0, 5000, name="text")
    severity = choice(*SEVERITIES)
    started = whole(0)
    ends_at = whole(0, null=True)
