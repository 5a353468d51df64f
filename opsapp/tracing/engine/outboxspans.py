"""Follows the outbox and sends the spans of what it tells, a page at a time, by the node that has the lease.

How far it was read is stored once the collector has taken a page, so a process that dies in between sends the page
again, with the same ids. What waits for longer than `KEEP_S` is dropped, so that a collector that comes back has not to
take an hour first.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from opsapp.runtime.cluster import leases
from opsapp.runtime.events import Positions, is_behind, read_page
from opsapp.runtime.node import Node
from opsapp.runtime.queue import until_stored
from opsapp.tracing import resources as stored
from opsapp.tracing.logic.otlp import encoded, message
from opsapp.tracing.logic.spans import SpanSource
from opsapp.tree.damage import is_damage, reason_of
from opsapp.tree.root import Root

from .collector import Collector
from .eventspans import Acted, spans_of

log = logging.getLogger(__name__)

LEASE = "tracing"
PAGE = 10  # batches of a writer
AT_ONCE = 500  # spans of a message
KEEP_S = 900.0
AGENT = "opsapp-agent"


class TracedPage(NamedTuple):
    """`messages`: each with how many spans it has. `late`: spans that waited for too long."""

    read: Positions
    messages: list[tuple[bytes, int]]
    late: int


class OutboxSpans:
    """`_read` is ahead of what is stored where there was nothing to send."""

    def __init__(self, node: Node, collector: Collector):
        self._node, self._collector = node, collector
        self._read: Positions = {}
        self._acted: Acted = {}

    def step(self) -> bool:
        if self._collector.settings.endpoint is None:
            self._read = {}
            if self._node.transact(_is_traced):
                self._node.transact(_forget)
            return False
        if not self._collector.is_ready():
            return False
        page: TracedPage = self._node.transact(self._next_page)
        self._collector.dropped += page.late
        for body, count in page.messages:
            if self._collector.send(body, count) == "away":
                return False
        if page.messages or page.late:
            until_stored(self._node, _arrived, page.read)
        moved, self._read = page.read != self._read, page.read
        return moved

    def anything(self, root: Root, _now: float) -> bool:
        """Where no collector is named there is nothing to do."""
        if self._collector.settings.endpoint is None:
            return _is_traced(root)
        return not _is_traced(root) or is_behind(root, self._ahead(stored.read_so_far(root) or {}))

    def _ahead(self, read: Positions) -> Positions:
        return {writer: max(read.get(writer, 0), self._read.get(writer, 0)) for writer in {*read, *self._read}}

    def _next_page(self, root: Root) -> TracedPage:
        leases.check(root, LEASE)
        read, events = read_page(root, self._ahead(stored.begin(root)), PAGE)
        service, oldest = self._collector.settings.service, self._node.clock.now() - KEEP_S
        spans, late = [], 0
        for event in events:
            try:
                made = list(spans_of(root, event, self._acted))
            except Exception as problem:
                if not is_damage(problem):
                    raise
                log.warning("no span of what cannot be read kind=%s: %s", event.kind, reason_of(problem))
                continue
            if event.at < oldest:
                late += len(made)
            else:
                spans += [(SpanSource(AGENT if span.host else service, span.host), encoded(span)) for span in made]
        parts = (spans[first : first + AT_ONCE] for first in range(0, len(spans), AT_ONCE))
        return TracedPage(read, [(message(part), len(part)) for part in parts], late)


def _is_traced(root: Root) -> bool:
    return stored.read_so_far(root) is not None


def _forget(root: Root) -> None:
    leases.check(root, LEASE)
    stored.forget(root)


def _arrived(root: Root, read: Positions) -> None:
    leases.check(root, LEASE)
    stored.arrived(root, read)
