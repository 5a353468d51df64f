"""Folding: the oldest links go, and a signed mark stands for them.

A link that does not fit stays for `verify` to name: a mark over it would make it good. Who holds the pipeline's lease
folds. Must not: decide how long entries are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from BTrees.OOBTree import OOBTree

from opsapp.healing.logic import chain
from opsapp.healing.logic.chain import FoldedLinks, FoldedTally
from opsapp.healing.stages import ledger as stage
from opsapp.healing.stages.case import ClosedCase
from opsapp.healing.stages.ledger import LedgerRecord

from .ledger import Ledger, held, keys_of

PAGE = 50
SHOWN = 20  # the page of a problem shows so many heals


def fold(ledger: Ledger, key: bytes, now: float, days: int, limit: int = PAGE) -> int:
    """A page of those that ended more than `days` ago; how many went."""
    before, mark = now - days * chain.DAY, ledger.folded
    if not key or chain.fold_mistake(mark, key, now):
        return 0
    going = list(_foldable(ledger, key, before, limit))
    if not going or not _count(ledger, key, going):
        return 0
    rows = ledger.folded_tallies or {}
    ledger.folded = chain.signed_fold(
        key,
        FoldedLinks(
            links=mark.links + len(going),
            head=str(going[-1].hash),
            highest=max(mark.highest, *(record.id for record in going)),
            oldest=min(mark.oldest or going[0].created_at, *(record.created_at for record in going)),
            newest=max(mark.newest, *(record.finished_at or 0 for record in going)),
            rows=len(rows),
            counted=mark.counted + sum(stage.counts(record)[1] * len(keys_of(record)) for record in going),
            made_at=int(now),
            days=days,
        ),
    )
    for place, record in enumerate(going, mark.links + 1):
        _take_out(ledger, place, record)
    return len(going)


def _foldable(ledger: Ledger, key: bytes, before: float, limit: int) -> Iterator[LedgerRecord]:
    """Sound, over, and needed by nothing. The last link and the newest entry stay, for the numbering."""
    previous, last, newest = ledger.folded.head, ledger.links(), ledger.entries.maxKey() if ledger.entries else 0
    places = enumerate(islice(ledger.order.items(), limit), ledger.folded.links + 1)
    for expected, (place, entry_id) in places:
        entry = ledger.readable.find(entry_id)
        if entry is None or place != expected or place == last or entry_id == newest:
            return
        if place == ledger.mark.links + 1 and previous != ledger.mark.head:
            return
        own = key if place > ledger.mark.links else b""
        record = entry.record
        if record.id != entry_id or not chain.fits(entry.fields, previous, own):
            return
        if record.finished_at is None or record.finished_at >= before or _is_needed(ledger, record, before):
            return
        previous = str(record.hash)
        yield record


def _is_needed(ledger: Ledger, record: LedgerRecord, before: float) -> bool:
    """Whether an entry is needed by a case, a rollback under way, or a problem's page."""
    healing = ledger.__parent__
    case = healing.book.record_of(record.case_id) if record.case_id else None
    if case is not None and not (isinstance(case, ClosedCase) and (case.closed_at or before) < before):
        return True
    later = ledger.rolled_back_by(record)
    if later is not None and not later.is_final:
        return True
    if (record.rule_id, record.target) not in healing.problems.open_on:
        return False
    of_both = held(ledger.by_both, (record.rule_id, record.target))
    return of_both is not None and record.id in of_both.newest(0, SHOWN)


def tally(tallies: dict[tuple[str, str, str], tuple[int, int]], record: LedgerRecord) -> None:
    """Count a final entry in (verified, total) of each key."""
    verified, total = stage.counts(record)
    for key in keys_of(record) if total else ():
        before = tallies.get(key, (0, 0))
        tallies[key] = (before[0] + verified, before[1] + total)


def _count(ledger: Ledger, key: bytes, going: list[LedgerRecord]) -> bool:
    """False where the tallies are not as signed."""
    rows = ledger.folded_tallies if ledger.folded_tallies is not None else OOBTree()
    added: dict[tuple[str, str, str], tuple[int, int]] = {}
    for record in going:
        tally(added, record)
    known = {of: rows.get(of, FoldedTally()) for of in added}
    if any(row.total and chain.signed_tally(key, of, row.verified, row.total) != row for of, row in known.items()):
        return False
    for of, (verified, total) in added.items():
        rows[of] = chain.signed_tally(key, of, known[of].verified + verified, known[of].total + total)
    if ledger.folded_tallies is None and rows:
        ledger.folded_tallies = rows
    return True


def _take_out(ledger: Ledger, place: int, record: LedgerRecord) -> None:
    del ledger.order[place], ledger.entries[record.id]
    ledger.unindex(record)
    if record.rolls_back and ledger.rollbacks.get(record.rolls_back) == record.id:
        del ledger.rollbacks[record.rolls_back]
    ledger.__parent__.snapshots.pop(record.id, None)
