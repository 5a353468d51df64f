"""The index of incidents that people put on status pages, by the ids of the pages; it is made with the first of them.

Must not: know what a visitor sees of one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.lib.ids import earliest_id
from opsapp.lib.pagenames import EVERY

from .resources import Incident, Incidents


def put_on(incidents: Incidents, incident: Incident, pages: tuple[str, ...]) -> None:
    if not pages:
        return
    incident.pages = pages
    if incidents.by_page is None:
        incidents.by_page = OOBTree()
    for page in pages:
        if page not in incidents.by_page:
            incidents.by_page[page] = OOTreeSet()
        incidents.by_page[page].insert(incident.id)


def ids_between(incidents: Incidents, page: str, start: float, end: float) -> set[str]:
    """Of those on this page, or on every one, that began in [start, end). None is read."""
    low, high = earliest_id(start), earliest_id(math.ceil(end))
    return {name for on in (page, EVERY) for name in _ids_on(incidents, on).keys(low, high, excludemax=True)}


def has_before(incidents: Incidents, page: str, start: float) -> bool:
    sets = [_ids_on(incidents, on) for on in (page, EVERY)]
    return any(ids and ids.minKey() < earliest_id(start) for ids in sets)


def shown_on(incidents: Incidents, page: str, start: float, end: float) -> Iterator[Incident]:
    """Those that began in [start, end), and those that are open."""
    sets = [_ids_on(incidents, on) for on in (page, EVERY)]
    still = {name for name in incidents.open_of_none if any(name in ids for ids in sets)}
    return incidents.some(sorted(ids_between(incidents, page, start, end) | still))


def _ids_on(incidents: Incidents, page: str) -> OOTreeSet:
    return OOTreeSet() if incidents.by_page is None else incidents.by_page.get(page, OOTreeSet())
