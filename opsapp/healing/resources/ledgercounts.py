"""Outcomes of the ledger by rule, for /metrics, whatever was folded away. Counted in the order of the chain; what an
older node writes beside this version is counted with the next entry."""

from __future__ import annotations

from itertools import islice
from typing import Any, Protocol

from BTrees.OOBTree import OOBTree

from opsapp.healing.places import healing_of
from opsapp.tree.root import Root

from .ledgerfilters import PIECE, ChainedEntries


class CountedEntries(ChainedEntries, Protocol):
    """`counted_links`: how many of the chain are counted."""

    outcomes: Any
    counted_links: int


def catch_up(ledger: CountedEntries, most: int = PIECE) -> bool:
    """Whether there are more links."""
    if ledger.outcomes is None:
        ledger.outcomes = OOBTree()  # (rule, outcome) -> how many
    links = list(islice(ledger.order.items(ledger.counted_links + 1), most))
    for entry in ledger.readable.some([entry_id for _, entry_id in links]):
        key = entry.fields["rule_id"], entry.fields["outcome"]
        ledger.outcomes[key] = ledger.outcomes.get(key, 0) + 1
    if links:
        ledger.counted_links = links[-1][0]  # the first ones may have been folded away
    return ledger.counted_links < ledger.links()


def count_outcomes(root: Root) -> None:
    """Evolve step."""
    ledger = healing_of(root).ledger
    while catch_up(ledger):
        if ledger._p_jar is not None:
            ledger._p_jar.cacheGC()  # a connection would keep all that it has read until its transaction ends
