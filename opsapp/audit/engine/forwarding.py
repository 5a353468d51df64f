"""A copy of each audit entry for another system: in order, a batch at a time, by the node that has the lease.

Progress is stored once the receiver has taken a batch; who dies in between leaves one that is sent again, each entry
with its id: at least once, none lost. Meanwhile entries wait where they are kept anyway.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from math import inf
from typing import Any

import gevent

from opsapp.audit.config import ForwardSettings
from opsapp.audit.interfaces import IPoster
from opsapp.audit.logic import KeptEntry, syslog
from opsapp.audit.logic.receivers import is_web, syslog_receiver
from opsapp.audit.resources import forwarding as stored
from opsapp.audit.resources.forwarding import AuditBatch, Backlog
from opsapp.lib.networks import AddressPolicy, OutboundSettings
from opsapp.runtime.cluster import leases
from opsapp.runtime.config import Configuration
from opsapp.runtime.families import counter, gauge
from opsapp.runtime.findings import OK, WARN, Finding
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.queue import until_stored
from opsapp.tree.root import Root

from .syslog import deliver

log = logging.getLogger(__name__)

LEASE = KEY = "audit-forwarding"
EVERY_S = 0.5
FIRST_PAUSE_S = 1.0
LATE_S = 60.0  # an entry that waits longer is told


class Forwarder:
    """After a failure it sends a single entry, and waits longer each time. So a receiver that refuses large bodies gets
    its entries, too."""

    def __init__(self, node: Node):
        self._node = node
        self._failures = 0  # in a row
        self._again = -inf  # in monotonic seconds
        self._for: ForwardSettings | None = None
        self.taken = self.failed = 0
        self.problem = ""

    def step(self) -> bool:
        settings = self._node.config[ForwardSettings]
        if settings is not self._for:  # another receiver may be there
            self._for, self._failures, self._again, self.problem = settings, 0, -inf, ""
        if settings.url is None or self._node.clock.monotonic() < self._again:
            return False
        most = 1 if self._failures else settings.batch
        batch: AuditBatch = self._node.transact(_next_batch, most, settings.whole_record)
        if not batch.entries:
            return False
        self.problem = self._sent(settings, settings.url, batch.entries)
        if self.problem:
            self._pause(settings)
            return False
        until_stored(self._node, _arrived, batch.taken)
        self._failures, self.taken = 0, self.taken + len(batch.entries)
        return True

    def _pause(self, settings: ForwardSettings) -> None:
        pause = min(settings.longest_pause_s, FIRST_PAUSE_S * 2 ** min(self._failures, 30))
        self._failures, self.failed = self._failures + 1, self.failed + 1
        self._again = self._node.clock.monotonic() + pause
        log.warning("audit entries not taken again_s=%.0f: %s", pause, self.problem)

    def _sent(self, settings: ForwardSettings, url: str, entries: list[KeptEntry]) -> str:
        try:
            if is_web(url):
                body = "".join(f"{syslog.line(entry)}\n" for entry in entries)
                post = self._node.registry.getUtility(IPoster)
                return str(post(self._node, url, settings.token, body, settings.timeout_s))
            policy = AddressPolicy((), self._node.config[OutboundSettings].deny_networks)
            messages = [syslog.message(entry, self._node.name) for entry in entries]
            with gevent.Timeout(settings.timeout_s, TimeoutError("the receiver did not end the connection in time")):
                deliver(syslog_receiver(url), messages, policy, settings.ca_file)
        except (OSError, ValueError) as wrong:
            return f"{type(wrong).__name__}: {wrong}"
        return ""


def start(node: Node) -> None:
    forwarder = node.registry[KEY] = Forwarder(node)
    look = QueueLook(node, anything)
    node.supervisor.add(KEY, forwarder.step, every=EVERY_S, wake=("config",), lease=LEASE, look=look)


def anything(root: Root, _now: float) -> bool:
    """Where no receiver is named there is nothing to do: such a service comes to rest."""
    return node_of(root).config[ForwardSettings].url is not None and stored.anything(root)


def _next_batch(root: Root, most: int, whole: bool) -> AuditBatch:
    leases.check(root, LEASE)
    return stored.next_batch(root, most, whole)


def _arrived(root: Root, taken: dict[str, int]) -> None:
    leases.check(root, LEASE)
    stored.arrived(root, taken)


def _backlog(root: Root, config: Configuration) -> Backlog:
    return stored.backlog(root) if config[ForwardSettings].url else Backlog()


def forwarding_trouble(root: Root) -> str | None:
    """What is wrong when entries wait for long; None while all is well."""
    node = node_of(root)
    waiting = _backlog(root, node.config)
    late = 0.0 if waiting.since is None else node.clock.now() - waiting.since
    if late <= LATE_S:
        return None
    forwarder: Forwarder | None = node.registry.get(KEY)
    why = f": {forwarder.problem}" if forwarder is not None and forwarder.problem else ""
    return f"{waiting.entries} audit entries wait for their receiver, the oldest for {late:.0f} s{why}"


def standing(root: Root, now: float, config: Configuration) -> Finding:
    """`IStoreFinder`."""
    waiting = _backlog(root, config)
    if waiting.since is not None and now - waiting.since > LATE_S:
        said = f"{waiting.entries} entries wait for their receiver, the oldest for {now - waiting.since:.0f} s"
        return Finding(WARN, "audit forwarding", said)
    sent = "no entry waits for long" if config[ForwardSettings].url else "audit.forward names no receiver"
    return Finding(OK, "audit forwarding", sent)


def figures(node: Node) -> Iterable[Any]:
    forwarder: Forwarder | None = node.registry.get(KEY)
    taken, failed = (forwarder.taken, forwarder.failed) if forwarder is not None else (0, 0)
    yield counter("opsapp_audit_forwarded", "Audit entries that the receiver has taken.", value=taken)
    yield counter("opsapp_audit_forward_failures", "Attempts that it has not taken.", value=failed)


def backlog_figures(root: Root) -> Iterable[Any]:
    node = node_of(root)
    waiting = _backlog(root, node.config)
    yield gauge("opsapp_audit_waiting", "Audit entries that wait for their receiver.", waiting.entries)
    age = 0.0 if waiting.since is None else max(0.0, node.clock.now() - waiting.since)
    yield gauge("opsapp_audit_waiting_seconds", "How long the oldest of them has waited.", age)
