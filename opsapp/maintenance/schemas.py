"""Queries and smaller answers of both families; `opsapp.maintenance.records` declares the windows."""

from __future__ import annotations

from opsapp.web.declared import answer_of, body_of
from opsapp.web.fields import Body, Paging, Query, choice, field, flag, list_of, text, whole, with_settings

from . import logic
from .records import WindowCoverage, WindowRecord


class WindowEnded(Body):
    status = choice("deleted", "ended")


class WindowQuery(Paging):
    active = flag(default=None)


class CalendarQuery(Paging):
    since = whole(0, 10**10, default=None)
    until = whole(0, 10**10, default=None)


class CoverageQuery(Query):
    scope = list_of(text(1, 255), 1000, default=None)


class OccurrenceShown(Body):
    start = whole(0)
    end = whole(0)


@with_settings(body_of(WindowRecord), *logic.IN_CALENDAR)
class CalendarEntry(OccurrenceShown):
    window_id = text()


class PreviewOfWindow(Body):
    occurrences = list_of(OccurrenceShown, 5)
    covers = field(answer_of(WindowCoverage))
