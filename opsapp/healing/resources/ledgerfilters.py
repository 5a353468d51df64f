"""Which entries fit a filter, by an index of outcome, action and time; and how many outcomes there are of each rule.

Only final entries are in it, for they never change. What an older node writes is looked at until the next entry indexes
and counts it. Must not: read other entries for a question.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple, Protocol

from BTrees.IIBTree import IISet, IITreeSet, intersection
from BTrees.LLBTree import LLTreeSet
from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.healing.places import healing_of
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root

PIECE = 500  # entries that are indexed with one new one, where there are any that are not
LOOKED_AT = 1000  # entries without a place in the index that are gone through for a question
ENTRY = "ledger entry"  # what people call one
ID_BITS, LATEST = 28, 1 << 34  # of a key by time: of its 63 bits the entry's number has the last 28


class LedgerFilter(NamedTuple):
    """What the entries are filtered by beside rule and target."""

    outcome: str | None = None
    action_type: str | None = None
    since: int | None = None
    until: int | None = None

    def fits(self, fields: JsonObject) -> bool:
        """Most entries need not become a record."""
        if self.outcome not in (None, fields.get("outcome")):
            return False
        if self.action_type not in (None, fields.get("action_type", "")):
            return False
        at = fields["created_at"]
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)


NO_FILTER = LedgerFilter()


class ChainedEntries(Protocol):
    """What is needed of the ledger. `counted_links`: how many of its chain are in `outcomes`."""

    entries: Any
    order: Any
    open: Any

    outcomes: Any
    counted_links: int

    @property
    def readable(self) -> ChildrenOf: ...

    def links(self) -> int: ...


class FilterIndex(Persistent):
    """Negative numbers, so that the newest comes first. `links`: of the chain, in it."""

    def __init__(self) -> None:
        self.links = 0
        self.outcomes = OOBTree()
        self.actions = OOBTree()
        self.times = LLTreeSet()

    def catch_up(self, ledger: ChainedEntries, most: int = PIECE) -> bool:
        """Whether there are more links."""
        links = list(islice(ledger.order.items(self.links + 1), most))
        for entry_id, entry in ledger.readable.some_items([entry_id for _, entry_id in links]):
            fields = entry.fields
            _below(self.outcomes, fields["outcome"]).insert(-entry_id)
            _below(self.actions, fields.get("action_type", "")).insert(-entry_id)
            self.times.insert(_place(fields["created_at"], entry_id))
        if links:
            self.links = links[-1][0]  # the first ones may have been folded away
        return self.links < ledger.links()

    def forget(self, record: LedgerRecord) -> None:
        """It may not be in the index yet."""
        for ids in (self.outcomes.get(record.outcome), self.actions.get(record.action_type)):
            if ids is not None and -record.id in ids:
                ids.remove(-record.id)
        place = _place(record.created_at, record.id)
        if place in self.times:
            self.times.remove(place)

    def fitting(self, ledger: ChainedEntries, among_these: Any, only: LedgerFilter) -> list[int]:
        """Newest first. `among_these`: negative, or None for all."""
        sets = [] if among_these is None else [among_these]
        if only.outcome is not None:
            sets.append(self.outcomes.get(only.outcome, IISet()))
        if only.action_type is not None:
            sets.append(self.actions.get(only.action_type, IISet()))
        if only.since is not None or only.until is not None:
            sets.append(self._within(only.since, only.until))
        fitting = [-negative for negative in reduce(intersection, sets)]
        late = [
            entry_id
            for entry_id, entry in ledger.readable.some_items(self._outside(ledger))
            if (among_these is None or -entry_id in among_these) and only.fits(entry.fields)
        ]
        return sorted({*fitting, *late}, reverse=True) if late else fitting

    def _within(self, since: int | None, until: int | None) -> IISet:
        first = _place(min(since or 0, LATEST), 0)
        last = _place(LATEST if until is None else min(until, LATEST), (1 << ID_BITS) - 1)
        mask = (1 << ID_BITS) - 1
        return IISet([-(place & mask) for place in self.times.keys(first, last)])

    def _outside(self, ledger: ChainedEntries) -> list[int]:
        """The entries under way or not indexed yet; of many only the newest."""
        return sorted({*ledger.open, *ledger.order.values(self.links + 1)}, reverse=True)[:LOOKED_AT]


def _place(at: int, entry_id: int) -> int:
    return (int(at) << ID_BITS) | entry_id


def _below(tree: Any, key: str) -> Any:
    if key not in tree:
        tree[key] = IITreeSet()
    return tree[key]


def catch_up_outcomes(ledger: ChainedEntries, most: int = PIECE) -> bool:
    """Count outcomes by rule, for /metrics, whatever was folded away. Whether there are more links."""
    if ledger.outcomes is None:
        ledger.outcomes = OOBTree()  # (rule, outcome) -> how many
    links = list(islice(ledger.order.items(ledger.counted_links + 1), most))
    for entry in ledger.readable.some([entry_id for _, entry_id in links]):
        key = entry.fields["rule_id"], entry.fields["outcome"]
        ledger.outcomes[key] = ledger.outcomes.get(key, 0) + 1
    if links:
        ledger.counted_links = links[-1][0]  # the first ones may have been folded away
    return ledger.counted_links < ledger.links()


def index_filters(root: Root) -> None:
    """Evolve step."""
    ledger = healing_of(root).ledger
    if ledger.filters is None:
        ledger.filters = FilterIndex()
    _to_the_end(ledger, ledger.filters.catch_up)


def count_outcomes(root: Root) -> None:
    """Evolve step."""
    _to_the_end(healing_of(root).ledger, catch_up_outcomes)


def _to_the_end(ledger: Any, catch_up: Callable[[Any], bool]) -> None:
    while catch_up(ledger):
        if ledger._p_jar is not None:
            ledger._p_jar.cacheGC()  # a connection would keep all that it has read until its transaction ends
