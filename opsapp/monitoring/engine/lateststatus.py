"""The public status document in this node's memory: made once for all visitors, when something has changed.

What is made of it (page, feed, JSON) is kept with it, so that a visitor costs no transaction and no rendering. Must
not: know who asks, or what is made.
"""

from __future__ import annotations

import gzip
import hashlib
import time
from collections.abc import Callable, Hashable
from typing import NamedTuple

from opsapp.monitoring.records import StatusDocument
from opsapp.runtime.node import Node
from opsapp.runtime.threads.sharedread import LANE, SharedRead
from opsapp.tree.root import Root

from .changedmonitors import ChangedMonitors
from .statuspage import status_document

KEY = "opsapp.monitoring.lateststatus"
KEPT_S = 5.0  # what changes without a commit (a window begins, a check is overdue) is seen so late at most
DEAR_S = 0.05  # of processor time: one that costs more is made for a quarter of the time at most
REST = 4
KEPT_BYTES = 8 << 20  # of what is made of one document
MOST_PAGES = 200  # whose documents are kept beside that of the page of all
SMALL = 1400  # bytes, of which packing saves nothing

Render = Callable[[StatusDocument], str]


class KeptText(NamedTuple):
    """`mark`: its ETag. `packed`: by gzip, where that saves something."""

    body: bytes
    packed: bytes | None
    mark: str

    @classmethod
    def of(cls, text: str) -> KeptText:
        body = text.encode("utf-8", "replace")
        packed = gzip.compress(body, 5, mtime=0) if len(body) > SMALL else None
        return cls(body, packed, hashlib.sha256(body).hexdigest()[:32])


class StatusNow:
    def __init__(self, document: StatusDocument, state: object, at: float, cost: float):
        self.document, self.state, self.at, self.cost = document, state, at, cost
        self.look = 0  # of `ChangedMonitors`
        self._texts: dict[Hashable, KeptText] = {}
        self._room = KEPT_BYTES

    def text(self, key: Hashable) -> KeptText | None:
        return self._texts.get(key)

    def render(self, key: Hashable, render: Render) -> KeptText:
        """Runs in the lane of long reads, one at a time."""
        known = self._texts.get(key)
        if known is not None:
            return known
        text = KeptText.of(render(self.document))
        size = len(text.body) + len(text.packed or b"")
        if size <= self._room:
            self._room -= size
            self._texts[key] = text
        return text


class LatestStatus:
    """One per node and page. On the hub all who ask share one making; a page that shows it makes it in its thread."""

    def __init__(
        self,
        node: Node,
        document_of: Callable[[Root], StatusDocument] | None = None,
        changed: ChangedMonitors | None = None,
    ):
        """`changed`: of a page of its own, which is made again for a change of its monitors alone."""
        self._node = node
        self._changed = changed
        self._changed_for_pages = ChangedMonitors(node, KEPT_S) if changed is None else changed
        self._document_of = document_of or (lambda root: status_document(node, root))
        self._pages: dict[str, LatestStatus] = {}
        self._made: StatusNow | None = None
        self._make_anew = SharedRead(node, self._make)

    def now(self) -> StatusNow:
        """The status as of the last commit, unless it is dear to make; never older than `KEPT_S`."""
        made = self._made
        if made is not None and self._serves(made):
            return made
        hub = self._node.hub
        return self._make() if hub.running and not hub.is_here() else self._make_anew()

    def text(self, key: Hashable, render: Render) -> KeptText:
        """What `render(document)` comes to; `key` stands for everything else that goes into it."""
        made = self.now()
        return made.text(key) or self._node.lane(LANE, 1).run(made.render, key, render)

    def of_page(self, name: str, document_of: Callable[[Root], StatusDocument]) -> LatestStatus:
        """The status of a page of its own, which is there. Of pages that are gone the oldest are forgotten."""
        latest = self._pages.get(name)
        if latest is None:
            while len(self._pages) >= MOST_PAGES:
                del self._pages[next(iter(self._pages))]
            latest = self._pages[name] = LatestStatus(self._node, document_of, self._changed_for_pages)
        return latest

    def _serves(self, made: StatusNow) -> bool:
        age, rest = self._node.clock.monotonic() - made.at, REST * made.cost
        if age >= max(KEPT_S, rest):
            return False
        return (made.cost > DEAR_S and age < rest) or made.state == self._node.last_transaction()

    def _make(self) -> StatusNow:
        at, state, before = self._node.clock.monotonic(), self._node.last_transaction(), time.thread_time()
        look = 0 if self._changed is None else self._changed.look(state)
        made = self._made
        if made is not None and at - made.at < KEPT_S and self._still_holds(made):
            made.state = state
            return made
        document = self._node.transact(self._document_of)
        self._made = made = StatusNow(document, state, at, time.thread_time() - before)
        made.look = look
        return made

    def _still_holds(self, made: StatusNow) -> bool:
        """What was committed since concerns other pages."""
        if self._changed is None:
            return False
        return not self._changed.has_changed((monitor.id for monitor in made.document.monitors), made.look)


def latest_status(node: Node) -> LatestStatus:
    latest: LatestStatus = node.registry[KEY]
    return latest
