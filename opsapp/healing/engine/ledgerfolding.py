"""Entries that are final for years are folded away, a page in a transaction; whoever should archive them is told a
month before."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import NamedTuple

from opsapp.healing.config import LedgerRetention
from opsapp.healing.logic.chain import DAY
from opsapp.healing.resources import healing_of, ledgerfolds
from opsapp.healing.resources.ledger import Ledger
from opsapp.runtime.cluster import leases
from opsapp.runtime.config import Configuration
from opsapp.runtime.findings import OK, WARN, Finding
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.tree.root import Root

log = logging.getLogger(__name__)

TOLD_DAYS = 30


class FoldedPage(NamedTuple):
    """Up to which link, how many went, and how many of them are in no known archive."""

    links: int
    gone: int
    unarchived: int


def fold(root: Root, now: float) -> FoldedPage:
    leases.check(root, "healing")
    ledger = healing_of(root).ledger
    first = ledger.folded.links
    gone = ledgerfolds.fold(ledger, chain_key(root), now, node_of(root).config[LedgerRetention].days)
    return FoldedPage(first + gone, gone, first + gone - max(first, min(ledger.archived, first + gone)))


def step(node: Node) -> bool:
    gone = unarchived = 0
    page = node.transact(fold, node.clock.now())
    while page.gone:
        gone, unarchived = gone + page.gone, unarchived + page.unarchived
        page = node.transact(fold, node.clock.now())
    if gone:
        log.info("folded %d ledger entries, %d of them never archived", gone, unarchived)
    return False


def unarchived(root: Root, now: float, config: Configuration) -> Finding:
    """`IStoreFinder`: whether entries go within a month that nobody has archived."""
    ledger, days = healing_of(root).ledger, config[LedgerRetention].days
    ended_at = _ended_at(ledger, max(ledger.folded.links, ledger.archived) + 1)
    if ended_at is None or ended_at >= now - (days - TOLD_DAYS) * DAY:
        return Finding(OK, "ledger", f"within {TOLD_DAYS} days, no entry is deleted that is not archived")
    day = datetime.fromtimestamp(ended_at + days * DAY, timezone.utc).date().isoformat()
    said = f"entries that were never archived are folded away from {day} on: `opsapp export --archive DIR` first"
    return Finding(WARN, "ledger", said)


def _ended_at(ledger: Ledger, place: int) -> int | None:
    entry = ledger.readable.find(ledger.order.get(place))
    return None if entry is None else entry.fields["finished_at"]
