"""Queries and smaller answers of both families; `opsapp.maintenance.records` declares the windows."""

from __future__ import annotations

from opsapp.web.fields import Body, Paging, Query, choice, flag, list_of, text, whole


class WindowEnded(Body):
    status = choice("deleted", "ended")


class WindowQuery(Paging):
    active = flag(default=None)


class CalendarQuery(Paging):
    since = whole(0, 10**10, default=None)
    until = whole(0, 10**10, default=None)


class CoverageQuery(Query):
    scope = list_of(text(1, 255), 1000, default=None)
