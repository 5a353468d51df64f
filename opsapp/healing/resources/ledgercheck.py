"""Whether a ledger is whole, and what is kept beside its entries. None is kept in memory: there may be a hundred
thousand. Must not: change anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from opsapp.healing.logic import chain
from opsapp.healing.logic.chain import LedgerVerdict, NotedHead
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.jsontypes import JsonObject

from .ledger import Ledger, keys_of
from .ledgerfolds import tally

FREED_EVERY = 500  # entries; a connection would keep all that it has read until its transaction ends


def verdict(ledger: Ledger, key: bytes, now: float | None = None) -> LedgerVerdict:
    """Links alone would fit where the end was cut off: so everything that was ever written must be there or under a
    mark, and indexes and statistics must fit."""
    checked = _verdict(ledger, key, now)
    if not ledger.folded.links:
        return checked
    begins_at = ledger.order[ledger.order.minKey()] if ledger.order else None
    return replace(checked, folded=ledger.folded.links, begins_at=begins_at)


def head_verdict(ledger: Ledger, key: bytes, noted: NotedHead) -> str:
    """Says whether the ledger still has a head that somebody has kept. Folded links are unknown."""
    if noted.links < ledger.folded.links:
        return chain.UNKNOWN
    if ledger.link_at(noted.links) == noted.head:
        return chain.KEPT
    return chain.CONTRADICTED if noted.is_signed(key) else chain.NOT_SIGNED


def _verdict(ledger: Ledger, key: bytes, now: float | None) -> LedgerVerdict:
    derived, folded = Derived(), ledger.folded.links
    checked = chain.verify(derived.noting(chained(ledger)), key, ledger.mark, ledger.folded, now)
    if not checked.valid:
        return checked
    last = ledger.order[ledger.links()] if ledger.order else None
    ends_well = ledger.head == (ledger.folded.head if last is None else ledger.entries[last].fields["hash"])
    written = ledger.entries.maxKey() if ledger.entries else 0
    in_chain, entries = len(ledger.order), len(ledger.entries)
    whole = folded + in_chain == ledger.links() and in_chain + len(ledger.open) == entries == written - folded
    if not ends_well or not whole:
        first = _first_outside(ledger)
        return replace(checked, valid=False, first_bad=first, reason="entries are missing or too many")
    if key and ledger.ended != chain.signed_end(key, ledger.links(), ledger.head):
        return replace(checked, valid=False, first_bad=ledger.next_id(), reason="the end of the chain was cut off")
    for record in ledger.records(ledger.open):
        derived.take(record)
    if not derived.take_folded(ledger, key):
        return replace(checked, valid=False, reason="the statistics of what was folded away were changed")
    return derived.compared(ledger, checked)


def chained(ledger: Ledger) -> Iterator[JsonObject]:
    """A missing or damaged entry is replaced by a link that fits nowhere."""
    for number, entry_id in enumerate(ledger.order.values()):
        if number % FREED_EVERY == 0 and ledger._p_jar is not None:
            ledger._p_jar.cacheGC()
        entry = ledger.readable.find(entry_id)
        yield {"id": entry_id, "prev_hash": None, "hash": None} if entry is None else entry.fields


class Derived:
    """Made again from the entries: rollbacks and statistics."""

    def __init__(self) -> None:
        self.rollbacks: dict[int, int] = {}
        self.tallies: dict[tuple[str, str, str], tuple[int, int]] = {}

    def noting(self, entries: Iterable[JsonObject]) -> Iterator[JsonObject]:
        """Each is noted when the next is asked for, for then its link was good."""
        for fields in entries:
            yield fields
            self.take(LedgerRecord.read(fields))

    def take(self, record: LedgerRecord) -> None:
        if record.rolls_back:
            self.rollbacks[record.rolls_back] = max(record.id, self.rollbacks.get(record.rolls_back, 0))
        if record.is_final:
            tally(self.tallies, record)

    def take_folded(self, ledger: Ledger, key: bytes) -> bool:
        """Whether the mark's tallies are as signed."""
        rows = ledger.folded_tallies or {}
        if len(rows) != ledger.folded.rows or sum(row.total for row in rows.values()) != ledger.folded.counted:
            return False
        for of, row in rows.items():
            if chain.signed_tally(key, of, row.verified, row.total) != row:
                return False
            verified, total = self.tallies.get(of, (0, 0))
            self.tallies[of] = (verified + row.verified, total + row.total)
        return True

    def compared(self, ledger: Ledger, checked: LedgerVerdict) -> LedgerVerdict:
        """Compares what was derived with what the ledger keeps, and returns the verdict."""
        changed = dict(ledger.rollbacks.items()).items() ^ self.rollbacks.items()
        if changed:
            first = min(entry_id for entry_id, _ in changed)
            return replace(checked, valid=False, first_bad=first, reason="what became of its rollback was changed")
        kept = {key: tuple(row[:2]) for key, row in ledger.effect.items() if row[1]}
        differing = {key for key, _ in kept.items() ^ self.tallies.items()}
        if differing:
            counted = (n for n, entry in ledger.entries.items() if differing.intersection(keys_of(entry.record)))
            first = next(counted, ledger.next_id())
            return replace(checked, valid=False, first_bad=first, reason="the statistics are not those of the entries")
        return checked


def _first_outside(ledger: Ledger) -> int:
    """Behind the folded ones, neither open nor in the chain; else the next id."""
    held, next_id = {*ledger.order.values(), *ledger.open}, ledger.next_id()
    outside = (n for n in range(ledger.folded.highest + 1, next_id) if n not in held or n not in ledger.entries)
    return next(outside, next_id)
