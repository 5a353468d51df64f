"""Whether this node's ledger was whole when it was checked last.

A check reads every entry: once an hour, and when somebody asks. Pages tell of the last one.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from opsapp.healing.answers import LastCheck
from opsapp.healing.logic import chain
from opsapp.healing.logic.chain import LedgerVerdict, NotedHead, read_head
from opsapp.healing.resources import healing_of, ledgercheck
from opsapp.runtime.node import Node
from opsapp.runtime.secrets.chainkey import chain_key, is_shut
from opsapp.runtime.threads.sharedread import SharedRead
from opsapp.tree.root import Root

from . import anchors, trusted

EVERY_S, LONG_AFTER_S = 3600.0, 60.0
LONG = 1000  # entries
KEY = "opsapp.healing.ledgerchecks"
log = logging.getLogger(__name__)


class LedgerChecks:
    """`now` on the hub, `last` in any thread."""

    def __init__(self, node: Node):
        self._node = node
        self.last: LastCheck | None = None  # none since the node was started, or the last one failed
        self.now = SharedRead(node, self._check)
        self._steps = 0

    def pace(self) -> float:
        return EVERY_S if self._steps > 1 or self.last is not None else LONG_AFTER_S

    def step(self) -> bool:
        """Check the ledger, but not a long one as the node starts, when there is more urgent work."""
        self._steps += 1
        if self._steps == 1 and self._node.transact(_is_long):
            return False
        try:
            verdict: LedgerVerdict = self.now()
        except Exception:
            log.exception("the ledger could not be checked")  # the service does not stop for it
            return False
        if not verdict.valid:
            log.error("the ledger is not whole first_bad=%s: %s", verdict.first_bad, verdict.reason)
        return False

    def _check(self) -> LedgerVerdict:
        at = int(self._node.clock.now())
        try:
            verdict = self._node.transact(self._verdict)
        except Exception:
            self.last = None  # what was known before is not known any more
            raise
        self.last = LastCheck(at, verdict)
        return verdict

    def _verdict(self, root: Root) -> LedgerVerdict:
        ledger = healing_of(root).ledger
        verdict = ledgercheck.verdict(ledger, chain_key(root), self._node.clock.now())
        return _with_trust(root, anchors.checked(self._node, ledger, verdict))


def _with_trust(root: Root, verdict: LedgerVerdict) -> LedgerVerdict:
    """The trust of rules is part of the signed record."""
    edited = trusted.held(root).edited if verdict.valid else ()
    return replace(verdict, valid=False, reason=trusted.said(edited)) if edited else verdict


def _is_long(root: Root) -> bool:
    return healing_of(root).ledger.links() > LONG


def answered(node: Node, head: str | None) -> LedgerVerdict:
    """Return the ledger's verdict and, with a head that somebody has kept, whether the chain still goes through it."""
    verdict: LedgerVerdict = checks_of(node).now()
    if head is None:
        return verdict
    says = node.transact(_head, read_head(head))
    if says == chain.CONTRADICTED and verdict.valid:
        verdict = replace(verdict, valid=False, reason="a signed head that was kept outside says otherwise")
    return replace(verdict, head=says)


def _head(root: Root, noted: NotedHead) -> str:
    """Without the key nobody knows what was signed."""
    says = ledgercheck.head_verdict(healing_of(root).ledger, chain_key(root), noted)
    return chain.UNKNOWN if says == chain.NOT_SIGNED and is_shut(root) else says


def prepare(node: Node) -> None:
    node.registry[KEY] = LedgerChecks(node)


def checks_of(node: Node) -> LedgerChecks:
    checks: LedgerChecks = node.registry[KEY]
    return checks


def start(node: Node) -> None:
    checks = checks_of(node)
    node.supervisor.add("ledger-check", checks.step, every=checks.pace)
