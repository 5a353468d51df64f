"""The chain over final ledger entries, in the order in which they became final.

Entries from before the chain had a key are linked without one; the mark says how many they are, and is signed. A mark
of another kind stands for entries that were folded away: the chain is checked from there on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opsapp.lib import chains
from opsapp.lib.chains import GENESIS
from opsapp.lib.jsontypes import JsonObject

LINKS = ("hash", "prev_hash")
KEPT, CONTRADICTED, UNKNOWN, NOT_SIGNED = HEADS = ("kept", "contradicted", "unknown", "not_signed")
DAY = 86_400
LEAST_DAYS = 365  # an entry is kept so long at least, whatever the configuration says


class UnsignedLinks(NamedTuple):
    """The number of links from before there was a key, and the last of them."""

    links: int = 0
    head: str = GENESIS
    signature: str | None = None


Mark = UnsignedLinks  # its name in older stores
NO_MARK = UnsignedLinks()


class FoldedLinks(NamedTuple):
    """The mark of what was folded away: the first `links` of the chain, up to the one with the hash `head`.

    Their ids go up to `highest`; they were opened from `oldest` on and had ended by `newest`. `rows` tallies stand for
    what they add to the statistics, with `counted` outcomes in all. When it was made, `days` were kept.
    """

    links: int = 0
    head: str = GENESIS
    highest: int = 0
    oldest: int = 0
    newest: int = 0
    rows: int = 0
    counted: int = 0
    made_at: int = 0
    days: int = LEAST_DAYS
    signature: str | None = None


NOTHING_FOLDED = FoldedLinks()


class FoldedTally(NamedTuple):
    """What folded entries add to the statistics under one key. Both numbers only grow, so an older one in its place
    shows in the sum that the mark has."""

    verified: int = 0
    total: int = 0
    signature: str | None = None


class ChainVerdict(NamedTuple):
    """`entries` of the chain were checked, from the one with the id `begins_at` on where `folded` ones are away."""

    valid: bool
    entries: int
    first_bad: int | None
    reason: str | None = None
    folded: int = 0
    begins_at: int | None = None


def link(previous: str, entry: JsonObject, key: bytes = b"") -> str:
    """The link of a final entry: over all its fields but its own links, and over the link before. Without a key the
    status of its rollback is left out, as in older versions."""
    without = LINKS if key else (*LINKS, "rollback_status")
    return chains.link(key, previous, {name: value for name, value in entry.items() if name not in without})


def signed_mark(key: bytes, count: int, head: str) -> UnsignedLinks:
    return UnsignedLinks(count, head, chains.link(key, head, ["mark", count]))


def signed_end(key: bytes, count: int, head: str) -> str:
    """Shows that the end of the chain was not cut off: only the owner of the key can make it."""
    return chains.link(key, head, ["end", count])


def noted_head(key: bytes, count: int, head: str) -> str:
    """The end of the chain for a copy outside of the store: `read_head` reads it back. Its signature is not that of
    the end, with which whoever can write to the store could cut the chain off there."""
    return f"{count}.{head}.{chains.link(key, head, ['noted', count]) if key else ''}"


class NotedHead(NamedTuple):
    links: int
    head: str
    signature: str

    def is_signed(self, key: bytes) -> bool:
        return bool(key) and chains.fits(key, self.signature, self.head, ["noted", self.links])


def read_head(text: str) -> NotedHead:
    links, head, signature = text.split(".")
    return NotedHead(int(links), head, signature)


def signed_fold(key: bytes, fold: FoldedLinks) -> FoldedLinks:
    return fold._replace(signature=chains.link(key, fold.head, _said(fold)))


def _said(fold: FoldedLinks) -> list[object]:
    return ["folded", *fold._replace(signature=None)]


def signed_tally(key: bytes, of: tuple[str, str, str], verified: int, total: int) -> FoldedTally:
    return FoldedTally(verified, total, chains.link(key, GENESIS, ["tally", *of, verified, total]))


def fold_mistake(fold: FoldedLinks, key: bytes, now: float | None = None) -> str | None:
    """What is wrong with the mark itself, or None. With `now`: by the clock too, which may be a day behind the one that
    it was made by."""
    if fold == NOTHING_FOLDED:
        return None
    if not chains.fits(key, fold.signature, fold.head, _said(fold)):
        return "the mark of what was folded away is not signed"
    away = fold.made_at if now is None else min(fold.made_at, now + DAY)
    if fold.days < LEAST_DAYS or fold.newest > away - fold.days * DAY:
        return "the mark stands for entries that were too young to be folded away"
    return None


def verify(
    entries: Iterable[JsonObject],
    key: bytes = b"",
    mark: UnsignedLinks = NO_MARK,
    fold: FoldedLinks = NOTHING_FOLDED,
    now: float | None = None,
) -> ChainVerdict:
    """Walk the chain from what was folded away on: `first_bad` is the id of the first entry whose link is wrong."""
    if key and not chains.fits(key, mark.signature, mark.head, ["mark", mark.links]):
        return ChainVerdict(False, 0, None, "where the signed part of the chain begins is not signed")
    mistake = fold_mistake(fold, key, now)
    if mistake:
        return ChainVerdict(False, 0, None, mistake)
    previous, count = fold.head, fold.links
    for entry in entries:
        own = key if count >= mark.links else b""
        if count == mark.links and previous != mark.head:
            reason = "the entries before the signed ones were changed"
            return ChainVerdict(False, count - fold.links, entry["id"], reason)
        if not fits(entry, previous, own):
            reason = "the entry was changed, or what stood before it"
            return ChainVerdict(False, count - fold.links, entry["id"], reason)
        previous, count = entry["hash"], count + 1
    return ChainVerdict(True, count - fold.links, None)


def fits(entry: JsonObject, previous: str, key: bytes) -> bool:
    """Whether this entry is as it was linked, after this link."""
    return bool(entry["prev_hash"] == previous and entry["hash"] == link(previous, entry, key))
