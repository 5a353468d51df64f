"""The chain over final ledger entries, in the order in which they became final.

Entries from before the chain had a key are linked without one; the mark says how many they are, and is signed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opsapp.lib import chains
from opsapp.lib.chains import GENESIS
from opsapp.lib.jsontypes import JsonObject

LINKS = ("hash", "prev_hash")


class UnsignedLinks(NamedTuple):
    """The number of links from before there was a key, and the last of them."""

    links: int = 0
    head: str = GENESIS
    signature: str | None = None


Mark = UnsignedLinks  # its name in older stores
NO_MARK = UnsignedLinks()


class ChainVerdict(NamedTuple):
    valid: bool
    entries: int
    first_bad: int | None
    reason: str | None = None


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


def verify(entries: Iterable[JsonObject], key: bytes = b"", mark: UnsignedLinks = NO_MARK) -> ChainVerdict:
    """Walk the chain: `first_bad` is the id of the first entry whose link is wrong."""
    if key and not chains.fits(key, mark.signature, mark.head, ["mark", mark.links]):
        return ChainVerdict(False, 0, None, "where the signed part of the chain begins is not signed")
    previous, count = GENESIS, 0
    for entry in entries:
        own = key if count >= mark.links else b""
        if count == mark.links and previous != mark.head:
            return ChainVerdict(False, count, entry["id"], "the entries before the signed ones were changed")
        if entry["prev_hash"] != previous or entry["hash"] != link(previous, entry, own):
            return ChainVerdict(False, count, entry["id"], "the entry was changed, or what stood before it")
        previous, count = entry["hash"], count + 1
    return ChainVerdict(True, count, None)
