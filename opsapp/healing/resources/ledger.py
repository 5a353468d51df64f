"""The ledger: entries, indexes, the chain's head, statistics. Only the pipeline writes it, under its lease: ids have no
gaps, and nothing needs conflict resolution."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, takewhile
from typing import Any

from BTrees.IIBTree import IISet, IITreeSet
from BTrees.IOBTree import IOBTree
from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.answers import LedgerEntryShown
from opsapp.healing.config import HealingSettings, SkipSettings
from opsapp.healing.logic import chain, effectiveness
from opsapp.healing.logic.effectiveness import OutcomeTally
from opsapp.healing.logic.rules import names_of, told_of
from opsapp.healing.stages import ledger as stage
from opsapp.healing.stages.case import CaseRecord
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.tree.folder import Folder, Record
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root
from opsapp.wire.records import plain

from .ledgerfilters import ENTRY, NO_FILTER, FilterIndex, LedgerFilter, catch_up_outcomes
from .ledgersubjects import ABOUT, among, page_of, under_way


class LedgerEntry(SealedFields, Record):
    """What is final never changes."""

    sealed_fields = ("fields",)

    def __init__(self, fields: JsonObject):
        self.fields = fields

    @property
    def record(self) -> LedgerRecord:
        return LedgerRecord.read(self.fields)

    def keep(self, record: LedgerRecord) -> None:
        if self.record.is_final:
            raise ValueError(f"ledger entry {record.id} is final")
        self.fields = record.stored()


class EntryIndex(Persistent):
    """Ids under one key, newest first. The length of a tree is a walk, so they are counted; a tree comes with the
    many."""

    def __init__(self) -> None:
        self.few: tuple[int, ...] = ()
        self.ids: Any = None  # negative, so that the tree's order is the one wanted
        self.count = 0

    def add(self, entry_id: int) -> None:
        self.count += 1
        if self.ids is None and len(self.few) < FEW:
            self.few = (entry_id, *self.few)
            return
        if self.ids is None:
            self.ids, self.few = IITreeSet([-kept for kept in self.few]), ()
        self.ids.insert(-entry_id)

    def negative(self) -> Any:
        return IISet([-kept for kept in self.few]) if self.ids is None else self.ids

    def remove(self, entry_id: int) -> None:
        self.count -= 1
        if self.ids is None:
            self.few = tuple(kept for kept in self.few if kept != entry_id)
        else:
            self.ids.remove(-entry_id)

    def newest(self, offset: int, limit: int) -> list[int]:
        if self.ids is None:
            return list(self.few[offset : offset + limit])
        return [-negative for negative in islice(self.ids.keys(), offset, offset + limit)]


FEW = 50
FEWER = 8  # so many ids are kept in the tree itself: most targets have no more, and an object each would be the cost


class Ledger(Folder):
    """/api/healing/ledger. `order`: in which entries became final."""

    url = "/api/healing/ledger"
    mark = chain.NO_MARK
    ended: str | None = None  # the signature of where the chain ends
    filters: FilterIndex | None = None  # stores of an older version have none before their evolve step
    folded = chain.NOTHING_FOLDED
    folded_tallies: OOBTree | None = None  # what the folded entries add to `effect`: its key -> FoldedTally
    outcomes: OOBTree | None = None  # (rule, outcome) -> how many; an older store has none before its evolve step
    counted_links = 0  # of the chain, so many are in it
    archived = 0  # so many links of the chain were written to an archive

    def __init__(self) -> None:
        super().__init__()
        self.entries = IOBTree()
        self.order = IOBTree()
        self.head = chain.GENESIS
        self.open = OOTreeSet()
        self.all = EntryIndex()
        self.by_rule = OOBTree()
        self.by_target = OOBTree()
        self.by_both = OOBTree()
        self.effect = OOBTree()  # (action, condition, target or "") -> its tally
        self.rollbacks = IOBTree()  # id of an entry -> id of the entry that rolled it back later
        self.filters = FilterIndex()

    @property
    def readable(self) -> ChildrenOf:
        return ChildrenOf(self.entries, ENTRY)

    # -- writing

    def begin(self, root: Root, case: CaseRecord, *, rule_id: str, now: float, **fields: Any) -> LedgerRecord:
        """An intent."""
        record = stage.opened(case, entry_id=self.next_id(), rule_id=rule_id, created_at=now, **fields)
        self.entries[record.id] = LedgerEntry(record.stored())
        self.open.insert(record.id)
        if record.rolls_back:
            self.rollbacks[record.rolls_back] = record.id
        self._index(record)
        self.tell(root, record)
        return record

    def end(
        self,
        root: Root,
        case: CaseRecord,
        *,
        rule_id: str,
        outcome: str,
        reason: str,
        now: float,
        events: int,
        **fields: Any,
    ) -> LedgerRecord:
        """Final at once. What was only observed is not sent to event streams."""
        intent = stage.opened(case, entry_id=self.next_id(), rule_id=rule_id, created_at=now, **fields)
        key, last = chain_key(root), self.head
        record = stage.final(intent, outcome=outcome, reason=reason, now=now, previous=last, key=key, events=events)
        self.entries[record.id] = LedgerEntry(record.stored())
        self._index(record)
        self._chain(record, key)
        if outcome != "observed":
            self.tell(root, record)
        return record

    def update(self, root: Root, entry_id: int | None, **fields: Any) -> None:
        entry = self.entries[entry_id]
        record = entry.record._replace(**fields)
        entry.keep(record)
        self.tell(root, record)

    def finish(
        self,
        root: Root,
        entry_id: int,
        *,
        outcome: str,
        reason: str,
        now: float,
        host: str | None = None,
        **fields: Any,
    ) -> LedgerRecord:
        """Make it final, linked and counted as an outcome of `host`, else of its target's host."""
        entry = self.entries[entry_id]
        key, previous = chain_key(root), self.head
        record = stage.final(
            entry.record, outcome=outcome, reason=reason, now=now, previous=previous, key=key, **fields
        )
        entry.keep(record)
        self.open.remove(entry_id)
        self._chain(record, key)
        if record.executed:
            self._count(record, host or names_of(record.target)[-1], now, node_of(root).config[HealingSettings].skip)
        self.tell(root, record)
        return record

    def next_id(self) -> int:
        return (self.entries.maxKey() if self.entries else self.folded.highest) + 1

    def _chain(self, record: LedgerRecord, key: bytes) -> None:
        self.head = str(record.hash)
        self.order[self.links() + 1] = record.id
        if record.subject:
            _add(self.by_both, (ABOUT, record.subject), record.id)
        self.ended = chain.signed_end(key, self.links(), self.head) if key else None
        if self.filters is not None:
            self.filters.catch_up(self)
        catch_up_outcomes(self)

    def links(self) -> int:
        return self.order.maxKey() if self.order else self.folded.links

    def id_at(self, place: int) -> int:
        """The id of the entry at a place in the chain, or of the one that would come there."""
        return int(self.order.get(place, self.next_id()))

    def link_at(self, place: int) -> str | None:
        """None where it was folded away."""
        if place == self.folded.links:
            return self.folded.head
        entry = self.readable.find(self.order.get(place))
        return None if entry is None else entry.fields["hash"]

    def sign(self, key: bytes) -> None:
        """Signs the chain so that from now on links are made with the key."""
        self.mark = chain.signed_mark(key, self.links(), self.head)
        self.ended = chain.signed_end(key, self.links(), self.head)

    def can_roll_back(self, record: LedgerRecord) -> bool:
        """Not rolled back, and no rollback has begun."""
        later = self.rolled_back_by(record)
        return (later is None or later.is_final) and self._rollback_status(record) != "rolled_back"

    def rolled_back_by(self, record: LedgerRecord) -> LedgerRecord | None:
        """The entry of the rollback that an admin requested for this one, if there is one."""
        later = self.rollbacks.get(record.id)
        return None if later is None else self.record(later)

    def tell(self, root: Root, record: LedgerRecord) -> None:
        emit(root, "heal", plain(self.shown(record)))

    def _index(self, record: LedgerRecord) -> None:
        self.all.add(record.id)
        for tree, key in self._places(record):
            _add(tree, key, record.id)

    def unindex(self, record: LedgerRecord) -> None:
        self.all.remove(record.id)
        if record.subject:
            _remove(self.by_both, (ABOUT, record.subject), record.id)
        for tree, key in self._places(record):
            _remove(tree, key, record.id)
        if self.filters is not None:
            self.filters.forget(record)

    def _places(self, record: LedgerRecord) -> Iterator[tuple[OOBTree, Any]]:
        yield self.by_rule, record.rule_id
        for name in names_of(record.target):
            yield self.by_target, name
            yield self.by_both, (record.rule_id, name)

    def _count(self, record: LedgerRecord, host: str, now: float, skip: SkipSettings) -> None:
        """Counts an entry's outcome in the tallies of all targets, of its host and of its target."""
        verified, total = stage.counts(record)
        for key in keys_of(record):
            tally = effectiveness.tried(self.tally(*key), now)
            if total:
                tally = effectiveness.counted(tally, bool(verified), host, now, skip)
            self.effect[key] = tally

    # -- reading

    def between(self, target: str, since: float, until: float, most: int) -> list[LedgerRecord]:
        """The newest first. Ids are in the order of time, so few entries are read."""
        index = held(self.by_target, target)
        ids = index.newest(0, index.count) if index is not None else []
        first = bisect_left(ids, True, key=lambda entry_id: self._began(entry_id) <= until)
        records = (record for entry_id in ids[first:] if (record := self.record(entry_id)) is not None)
        return list(islice(takewhile(lambda record: record.created_at >= since, records), most))

    def _began(self, entry_id: int) -> int:
        record = self.record(entry_id)
        return 0 if record is None else record.created_at

    def record(self, entry_id: int) -> LedgerRecord | None:
        entry = self.readable.find(entry_id)
        return None if entry is None else entry.record

    def shown(self, record: LedgerRecord) -> LedgerEntryShown:
        """An entry as the API gives it."""
        has_case = record.case_id in self.__parent__.book.cases if record.case_id else False
        told = record._asdict()
        del told["executed"], told["verdict"]
        told.update(rollback_status=self._rollback_status(record))
        return LedgerEntryShown(**told, has_case=has_case)

    def _rollback_status(self, record: LedgerRecord) -> str | None:
        later = self.rolled_back_by(record)
        return record.rollback_status if later is None else later.outcome

    def page(
        self,
        rule_id: str | None,
        target: str | None,
        limit: int,
        offset: int,
        only: LedgerFilter = NO_FILTER,
        subjects: Collection[str] | None = None,
    ) -> tuple[int, list[LedgerRecord]]:
        """(The number of entries, a page, newest first). `subjects`: of those about these alone."""
        if rule_id is not None and target is not None:
            index = held(self.by_both, (rule_id, target))
        elif rule_id is not None:
            index = held(self.by_rule, rule_id)
        else:
            index = self.all if target is None else held(self.by_target, target)
        if index is None:
            return 0, []
        if subjects is not None:
            these = None if index is self.all else index
            total, ids = page_of(self._about(subjects), these, limit, offset, only, self._fitting)
            return total, [*self.records(ids)]
        if only == NO_FILTER:
            return index.count, [*self.records(index.newest(offset, limit))]
        fitting = self._fitting(only, None if index is self.all else index.negative())
        return len(fitting), [*self.records(fitting[offset : offset + limit])]

    def _about(self, subjects: Collection[str]) -> list[EntryIndex]:
        final = (held(self.by_both, (ABOUT, subject)) for subject in subjects)
        return [_index_of(tuple(under_way(self, subjects))), *(index for index in final if index is not None)]

    def before(
        self, last: int | None, limit: int, only: LedgerFilter, subjects: Collection[str] | None = None
    ) -> list[LedgerEntryShown]:
        """The newest that fit and are older than `last`. `subjects`: as in `page`."""
        these = None if subjects is None else among(self._about(subjects), None)
        older = (entry_id for entry_id in self._fitting(only, these) if last is None or entry_id < last)
        return [self.shown(record) for record in islice(self.records(older), limit)]

    def _fitting(self, only: LedgerFilter, among_these: Any = None) -> list[int]:
        return (self.filters or FilterIndex()).fitting(self, among_these, only)

    def records(self, entry_ids: Iterable[int]) -> Iterator[LedgerRecord]:
        return (entry.record for entry in self.readable.some(entry_ids))

    def statistics(self, action_type: str, condition: str, target: str = "") -> tuple[int, int]:
        """(verified, total) at all times."""
        return self.tally(action_type, told_of(condition)[0], target)[:2]

    def history(self, action_type: str, condition: str, target: str) -> tuple[OutcomeTally, OutcomeTally]:
        """The outcomes of the target's host, and of the fleet."""
        condition_text = told_of(condition)[0]
        return self.tally(action_type, condition_text, names_of(target)[-1]), self.tally(
            action_type, condition_text, ""
        )

    def tally(self, action_type: str, condition: str, target: str) -> OutcomeTally:
        return OutcomeTally(*self.effect.get((action_type, condition, target), ()))


def keys_of(record: LedgerRecord) -> list[tuple[str, str, str]]:
    """Where an executed entry counts."""
    targets = ("", *names_of(record.target))
    return [
        (record.action_type, condition_text, target)
        for condition_text in told_of(record.condition)
        for target in targets
    ]


def _add(tree: OOBTree, key: Any, entry_id: int) -> None:
    ids = tree.get(key, ())
    if isinstance(ids, tuple):
        if len(ids) < FEWER:
            tree[key] = (entry_id, *ids)
            return
        ids = tree[key] = _index_of(ids)
    ids.add(entry_id)


def _remove(tree: OOBTree, key: Any, entry_id: int) -> None:
    ids = tree[key]
    if isinstance(ids, tuple):
        ids = tree[key] = tuple(kept for kept in ids if kept != entry_id)
    else:
        ids.remove(entry_id)
    if ids == () or (isinstance(ids, EntryIndex) and not ids.count):
        del tree[key]


def held(tree: OOBTree, key: Any) -> EntryIndex | None:
    ids = tree.get(key)
    return _index_of(ids) if isinstance(ids, tuple) else ids


def _index_of(ids: tuple[int, ...]) -> EntryIndex:
    index = EntryIndex()
    index.few, index.count = ids, len(ids)
    return index
