"""The ledger's entries about some hosts and monitors, by an index of what each is about, of final entries; those under
way are looked at. Entries that an older version wrote do not say it. Must not: know who may see what, or read others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from heapq import nsmallest
from itertools import chain
from typing import Any, NamedTuple, Protocol

from BTrees.IIBTree import intersection, multiunion

from .ledgerfilters import LOOKED_AT, NO_FILTER, ChainedEntries, LedgerFilter

ABOUT = "@"  # in place of a rule, no rule's id: keys of `by_both` with it are of what final entries are about


class EntryIds(Protocol):
    """`resources.ledger.EntryIndex`: ids, newest first; `negative`: as a set, the newest first."""

    count: int

    def newest(self, offset: int, limit: int) -> list[int]: ...

    def negative(self) -> Any: ...


def under_way(ledger: ChainedEntries, subjects: Collection[str]) -> list[int]:
    """Newest first; of many only the newest are looked at."""
    ids = sorted(ledger.open, reverse=True)[:LOOKED_AT]
    return [entry_id for entry_id, entry in ledger.readable.some_items(ids) if entry.fields.get("subject") in subjects]


class EntryIdsPage(NamedTuple):
    total: int
    ids: list[int]


def page_of(
    indexes: Sequence[EntryIds],
    these: EntryIds | None,
    limit: int,
    offset: int,
    only: LedgerFilter,
    fitting: Callable[[LedgerFilter, Any], list[int]],
) -> EntryIdsPage:
    """Of those in any of the indexes and in `these`. `fitting`: those of a set of negative ids that fit a filter."""
    if these is None and only == NO_FILTER:
        return newest_of(indexes, offset, limit)
    negative = among(indexes, these)
    ids = [-entry_id for entry_id in negative] if only == NO_FILTER else fitting(only, negative)
    return EntryIdsPage(len(ids), ids[offset : offset + limit])


def newest_of(indexes: Sequence[EntryIds], offset: int, limit: int) -> EntryIdsPage:
    """A page of all of them; an entry is in one index at most. Of each only its newest ids are read."""
    first = (index.newest(0, offset + limit) for index in indexes)
    ids = [-negative for negative in nsmallest(offset + limit, (-entry_id for entry_id in chain.from_iterable(first)))]
    return EntryIdsPage(sum(index.count for index in indexes), ids[offset:])


def among(indexes: Sequence[EntryIds], these: EntryIds | None) -> Any:
    """The ids in any of the indexes that are among `these`, or all, as a set of negative ones."""
    negative = multiunion([index.negative() for index in indexes])
    return negative if these is None else intersection(negative, these.negative())
