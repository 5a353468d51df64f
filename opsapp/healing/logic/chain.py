"""The chain over final ledger entries, in the order in which they became final.

Entries from before there was a key are linked without one: a signed mark counts them. Another mark stands for entries
that were folded away: the check begins there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple

from opsapp.lib import chains
from opsapp.lib.chains import GENESIS
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice
from opsapp.wire.records import AT_TIMES, SaidAs

LINKS = ("hash", "prev_hash")
KEPT, CONTRADICTED, UNKNOWN, NOT_SIGNED = HEADS = ("kept", "contradicted", "unknown", "not_signed")
DAY = 86_400
LEAST_DAYS = 365  # an entry is kept so long at least, whatever the configuration says


class UnsignedLinks(NamedTuple):
    """How many, and the last of them."""

    links: int = 0
    head: str = GENESIS
    signature: str | None = None


NO_MARK = UnsignedLinks()


class FoldedLinks(NamedTuple):
    """The mark of the first `links`, up to the hash `head`. Their ids go up to `highest`; they were opened from
    `oldest` on and had ended by `newest`. `rows` tallies stand for `counted` outcomes. `days` were kept then."""

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
    """Both numbers only grow, so an older one put back shows in the mark's sum."""

    verified: int = 0
    total: int = 0
    signature: str | None = None


@frozen
class LedgerVerdict:
    """The check began at the entry `from`: before it, a signed mark stands for `folded` entries. `head`: of one that
    was given; `unknown` where its links were folded away."""

    valid: bool
    entries: int
    first_bad: int | None
    reason: Annotated[str | None, AT_TIMES] = None
    folded: Annotated[int, AT_TIMES] = 0
    begins_at: Annotated[int | None, SaidAs("from"), AT_TIMES] = 0  # null where all are away
    head: Annotated[str | None, Choice(*HEADS), AT_TIMES] = None


def link(previous: str, entry: JsonObject, key: bytes = b"") -> str:
    """Over all fields but its own links, and the link before. Without a key `rollback_status` is left out, as in older
    versions."""
    without = LINKS if key else (*LINKS, "rollback_status")
    return chains.link(key, previous, {name: value for name, value in entry.items() if name not in without})


def signed_mark(key: bytes, count: int, head: str) -> UnsignedLinks:
    return UnsignedLinks(count, head, chains.link(key, head, ["mark", count]))


def signed_end(key: bytes, count: int, head: str) -> str:
    """Shows that the end was not cut off: only the key's owner can make it."""
    return chains.link(key, head, ["end", count])


def noted_head(key: bytes, count: int, head: str) -> str:
    """The chain's head as text for a copy outside of the store. It does not carry the end's signature: with that,
    whoever writes to the store could cut the chain off there."""
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
    """`now`: by the clock too, which may be a day behind the mark's."""
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
) -> LedgerVerdict:
    """Checks the chain from what was folded away on. `first_bad`: the first entry whose link is wrong."""
    if key and not chains.fits(key, mark.signature, mark.head, ["mark", mark.links]):
        return LedgerVerdict(False, 0, None, "where the signed part of the chain begins is not signed")
    mistake = fold_mistake(fold, key, now)
    if mistake:
        return LedgerVerdict(False, 0, None, mistake)
    previous, count = fold.head, fold.links
    for entry in entries:
        own = key if count >= mark.links else b""
        if count == mark.links and previous != mark.head:
            mistake = "the entries before the signed ones were changed"
        elif not fits(entry, previous, own):
            mistake = "the entry was changed, or what stood before it"
        if mistake:
            return LedgerVerdict(False, count - fold.links, entry["id"], mistake)
        previous, count = entry["hash"], count + 1
    return LedgerVerdict(True, count - fold.links, None)


def fits(entry: JsonObject, previous: str, key: bytes) -> bool:
    return bool(entry["prev_hash"] == previous and entry["hash"] == link(previous, entry, key))
