"""What an archive has of healing: final entries of the ledger with their links, and closed cases; and whether its
entries are as they were written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from opsapp.healing.logic import chain
from opsapp.healing.logic.chain import FoldedLinks, UnsignedLinks
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.ledger import Ledger
from opsapp.lib import chains
from opsapp.lib.addresses import public
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid
from opsapp.runtime.node import now_of
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.runtime.store import archive
from opsapp.runtime.store.archive import ArchivePage
from opsapp.tree.root import Root


class ArchiveVerdict(NamedTuple):
    """`masked`: entries with `***` in place of what is not shown; they are signed as they are."""

    entries: int
    masked: int
    mistake: str | None = None


def case_page(root: Root, after: str) -> ArchivePage:
    """The one that `after` names may be forgotten by now."""
    book = healing_of(root).book
    ids = list(islice(book.cases.keys(after or None, excludemin=bool(after)), archive.PAGE))
    cases = list(book.readable.some(ids))
    rows = [public(case.plain()) | {"due": None} for case in cases if case.record.state == "closed"]  # never, by now
    return ArchivePage(rows, ids[-1] if len(ids) == archive.PAGE else None, len(ids) - len(cases))


def ledger_page(root: Root, after: str) -> ArchivePage:
    """Return a page of entries by place in the chain, up to where the chain ended when the first page was asked for."""
    ledger = healing_of(root).ledger
    first, last = _places(after) if after else (ledger.folded.links, ledger.links())
    places = list(islice(ledger.order.items(first + 1, last), archive.PAGE))
    if first < ledger.folded.links or (places and places[0][0] != first + 1):
        message = "Entries were folded away, or taken out, while they were archived: begin again."
        raise Conflict(message, code="folded_meanwhile")
    key = chain_key(root)
    rows = [_row(ledger, place, entry_id, key) for place, entry_id in places]
    go_on = len(places) == archive.PAGE and places[-1][0] < last
    about = {} if after else _about(ledger, now_of(root))
    unreadable = sum(row["entry"] is None for row in rows)
    return ArchivePage(rows, f"{places[-1][0]}-{last}" if go_on else None, unreadable, about)


def _places(after: str) -> tuple[int, int]:
    first, mark, last = after.partition("-")
    if not (mark and first.isdecimal() and last.isdecimal() and len(after) < 30):
        raise Invalid({"after": "is no place in the chain"})
    return int(first), int(last)


def _row(ledger: Ledger, place: int, entry_id: int, key: bytes) -> JsonObject:
    entry = ledger.readable.find(entry_id)
    if entry is None:
        return {"place": place, "id": entry_id, "entry": None}
    seen = public(entry.fields)
    if seen == entry.fields:
        return {"place": place, "entry": seen}
    return {"place": place, "entry": seen, "masked": _masked(seen, key)}


def _masked(entry: JsonObject, key: bytes) -> str:
    """Its own link does not fit any more."""
    return chains.link(key, entry["hash"], ["masked", entry])


def _about(ledger: Ledger, now: float) -> JsonObject:
    return {
        "made_at": int(now),
        "folded": ledger.folded._asdict(),
        "unsigned": ledger.mark._asdict(),
        "links": ledger.links(),
        "head": ledger.head,
        "ended": ledger.ended,
    }


def archived(root: Root, links: int, head: str) -> None:
    ledger = healing_of(root).ledger
    if ledger.link_at(links) != head:
        raise Invalid({"head": "the chain has no such link at that place"})
    ledger.archived = max(ledger.archived, links)


def check(rows: Iterable[JsonObject], about: JsonObject, key: bytes) -> ArchiveVerdict:
    mark, fold = UnsignedLinks(**about["unsigned"]), FoldedLinks(**about["folded"])
    if not chains.fits(key, mark.signature, mark.head, ["mark", mark.links]):
        return ArchiveVerdict(0, 0, "where the signed part of the chain begins is not signed with this store's key")
    mistake = chain.fold_mistake(fold, key)
    if mistake:
        return ArchiveVerdict(0, 0, mistake)
    previous, place, masked = fold.head, fold.links, 0
    for row in rows:
        place += 1
        entry = row["entry"]
        if entry is None or not _fits(row, place, previous, key if place > mark.links else b"", key):
            which = row.get("id") if entry is None else entry["id"]
            return ArchiveVerdict(place - 1 - fold.links, masked, f"entry {which} was changed, or what stood before it")
        masked += "masked" in row
        previous = entry["hash"]
    signed = about["ended"] is not None and about["ended"] == chain.signed_end(key, place, previous)
    if (place, previous) != (about["links"], about["head"]) or not signed:
        return ArchiveVerdict(place - fold.links, masked, "the end is not where the chain ended")
    return ArchiveVerdict(place - fold.links, masked)


def _fits(row: JsonObject, place: int, previous: str, own: bytes, key: bytes) -> bool:
    if row["place"] != place:
        return False
    if "masked" in row:
        signed = chains.fits(key, row["masked"], row["entry"]["hash"], ["masked", row["entry"]])
        return bool(signed and row["entry"]["prev_hash"] == previous)
    return chain.fits(row["entry"], previous, own)
