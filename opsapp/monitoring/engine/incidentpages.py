"""A page of the list of incidents that goes on after a row, so that nothing moves when new ones come. It reads as many
incidents as it needs for its lines, up to a bound, however many there are.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from opsapp.monitoring.alike import page_end
from opsapp.monitoring.queries import IncidentQuery
from opsapp.monitoring.records import IncidentRecord
from opsapp.monitoring.resources import LOOKED_AT, Incidents

from .incident_list import incident_rows

AT_ONCE, MOST = 100, 1000  # incidents that are read in one go, and for one page


class IncidentPage(NamedTuple):
    rows: list[IncidentRecord]
    following: str | None  # the page after it has what is before this one
    total: int  # of this state and monitor; where a filter chooses, among those that were looked at


def page_before(incidents: Incidents, query: IncidentQuery, seen: Container[str] | None, now: float) -> IncidentPage:
    """`seen`: of these monitors alone. A page of lines ends where no line is cut in two, as long as it keeps half of
    them."""
    ids, rows, looked_at, last = incidents.newest_first(query), list[IncidentRecord](), 0, ""
    while True:
        read = list(islice(ids, AT_ONCE))
        goes_on, looked_at, last = len(read) == AT_ONCE, looked_at + len(read), read[-1] if read else last
        rows += incident_rows(incidents, _chosen(incidents, read, query, seen), now)
        is_last_look = not goes_on or len(rows) >= MOST or looked_at >= LOOKED_AT
        length = _length(rows, query, goes_on=goes_on, is_last_look=is_last_look)
        if length is not None:
            following = rows[length - 1].id if length < len(rows) else last if goes_on else None
            chooses = query.chooses or seen is not None
            return IncidentPage(rows[:length], following, len(rows) if chooses else _count(incidents, query))


def _length(rows: list[IncidentRecord], query: IncidentQuery, *, goes_on: bool, is_last_look: bool) -> int | None:
    """How many of the rows are the page; None: more have to be read."""
    if not query.together:
        return min(query.limit, len(rows)) if is_last_look or len(rows) > query.limit else None
    end = page_end(rows, query.limit, goes_on=goes_on)
    if end.whole and 2 * end.lines_of_whole >= query.limit:
        return end.whole
    if not is_last_look:
        return None
    return end.whole if end.whole == len(rows) else end.most


def _chosen(incidents: Incidents, ids: list[str], query: IncidentQuery, seen: Container[str] | None) -> list[str]:
    if not query.chooses and seen is None:
        return ids
    return [
        incident_id
        for incident_id, incident in incidents.some_items(ids)
        if incident.passes(query) and (seen is None or incident.monitor_id in seen)
    ]


def _count(incidents: Incidents, query: IncidentQuery) -> int:
    return incidents.page(replace(query, limit=1, offset=0), None)[1]
