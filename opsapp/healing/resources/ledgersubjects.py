"""The ledger's entries about some hosts and monitors, by an index of what each is about. Entries that an older version
wrote do not say it. Must not: know who may see what, or read an entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nsmallest
from itertools import chain
from typing import Any, NamedTuple, Protocol

from BTrees.IIBTree import intersection, multiunion


class EntryIds(Protocol):
    """`resources.ledger.EntryIndex`: ids, newest first; `negative`: as a set, the newest first."""

    count: int

    def newest(self, offset: int, limit: int) -> list[int]: ...

    def negative(self) -> Any: ...


class EntryIdsPage(NamedTuple):
    total: int
    ids: list[int]


def page_of(
    indexes: Sequence[EntryIds],
    these: EntryIds | None,
    limit: int,
    offset: int,
    fitting: Callable[[Any], list[int]] | None,
) -> EntryIdsPage:
    """Of those in any of the indexes and in `these`. `fitting`: those of a set of negative ids that fit a filter."""
    if these is None and fitting is None:
        return newest_of(indexes, offset, limit)
    negative = among(indexes, these)
    ids = [-entry_id for entry_id in negative] if fitting is None else fitting(negative)
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
