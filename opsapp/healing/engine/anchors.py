"""Anchors: how far the ledger and the audit record had come, noted where who edits the store cannot follow. A file
has a line an anchor and is read by `verify`; a URL is sent each of them."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from opsapp.audit.resources import written
from opsapp.automations.engine import WebhookSender, webhook_sender_of
from opsapp.healing.config import AnchorSettings, HealingSettings
from opsapp.healing.logic.chain import LedgerVerdict
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.ledger import Ledger
from opsapp.lib.durations import seconds
from opsapp.lib.problems import UpstreamFailed
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

log = logging.getLogger(__name__)

TIMEOUT_S = 20.0
READ_BACK = 4 << 20  # bytes of the file's end


class Anchor(NamedTuple):
    """Links of the ledger's chain, the last of them, audited entries."""

    time: int
    entries: int
    head: str
    audited: int


def start(node: Node) -> None:
    wanted = settings(node)
    if wanted is not None:
        node.supervisor.add("ledger-anchor", lambda: step(node), every=seconds(wanted.every), lease="healing")


def settings(node: Node) -> AnchorSettings | None:
    wanted = node.config[HealingSettings].ledger.anchor
    return wanted if wanted.file or wanted.url else None


def step(node: Node) -> bool:
    """A file is written in a lane's thread. Where an anchor cannot be written, the service goes on."""
    wanted = settings(node)
    if wanted is None:
        return False
    line = json.dumps(node.transact(_present, int(node.clock.now()))._asdict())
    try:
        if wanted.file:
            node.lane("anchors", 1).run(_append, wanted.file, line)
        elif wanted.url:
            _send(webhook_sender_of(node), wanted.url, line)
    except (OSError, ValueError, UpstreamFailed) as problem:  # ValueError: no request can be made of the URL
        log.error("the ledger's anchor was not written: %s", problem)
    return False


def _present(root: Root, now: int) -> Anchor:
    ledger = healing_of(root).ledger
    return Anchor(now, ledger.links(), ledger.head, written(root))


def _append(path: str, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def _send(sender: WebhookSender, url: str, line: str) -> None:
    headers = {"Content-Type": "application/json"}
    reply, problem = sender.send("anchor", "POST", url, line, headers, TIMEOUT_S, follow=False)
    if problem or not 200 <= reply.status < 300:
        raise UpstreamFailed(f"The anchor was not taken: {problem or reply.status}", code="anchor_failed")


def anchors(node: Node) -> Iterator[Anchor]:
    """Oldest first."""
    wanted = settings(node)
    path = Path(wanted.file) if wanted is not None and wanted.file else None
    if path is None or not path.exists():
        return
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - READ_BACK))
        lines = file.read().splitlines()
    for line in lines:
        try:
            yield Anchor(**json.loads(line))
        except (ValueError, TypeError):
            continue  # the first line may be half a line, the last one half written


def audited(node: Node) -> int | None:
    """`IAnchored`."""
    return max((anchor.audited for anchor in anchors(node)), default=None)


def checked(node: Node, ledger: Ledger, verdict: LedgerVerdict) -> LedgerVerdict:
    """Return the verdict, made invalid if an anchor contradicts it; nothing can be said of links that were folded
    away."""
    if not verdict.valid:
        return verdict
    for anchor in anchors(node):
        if anchor.entries >= ledger.folded.links and ledger.link_at(anchor.entries) != anchor.head:
            first, reason = ledger.id_at(anchor.entries), "an anchor outside of the store says otherwise"
            return replace(verdict, valid=False, first_bad=first, reason=reason)
    return verdict
