"""A lasting answer (a stream, an upload, a session) ends when its caller may ask no more: the session or key is ended
(the outbox says so) or runs out. One listener a node, however many streams."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import gevent

from opsapp.runtime.events import SESSION_ENDED, Event
from opsapp.runtime.node import Node

from .identity import Identity

REMEMBERED = 10_000
REGISTRY_KEY = "opsapp.callers"

End = Callable[[str], Any]


class Callers:
    def __init__(self, node: Node):
        self._node = node
        self._lock = threading.RLock()  # the collector may end another stream while one holds it
        self._lasting: dict[str, dict[object, End]] = {}
        self._by_ticket: dict[str, End] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()  # for an answer that begins just then
        node.events.listen(self.on_event)

    def on_event(self, event: Event) -> None:
        if event.kind != SESSION_ENDED:
            return
        session_id = event.data["session_id"]
        with self._lock:
            ends = list(self._lasting.get(session_id, {}).values())
            if not event.data.get("stays"):
                self._ended[session_id] = None
                if len(self._ended) > REMEMBERED:
                    self._ended.popitem(last=False)
        for end in ends:
            end("signed_out")

    @contextlib.contextmanager
    def over(self, caller: Identity | None, end: End) -> Iterator[None]:
        """`end(reason)` is called while the block runs, once or more, from whichever thread learns of it. A ticket has
        one stream at a time: its reconnect ends the one before, whose reader may be gone without a word."""
        if caller is None or caller.session_id is None:
            yield
            return
        mark = object()
        with self._lock:
            self._lasting.setdefault(caller.session_id, {})[mark] = end
            over = caller.session_id in self._ended
            before = self._by_ticket.pop(caller.ticket, None) if caller.ticket else None
            if caller.ticket:
                self._by_ticket[caller.ticket] = end
        if before is not None:
            before("opened_again")
        timer = self._timer(caller, end)
        try:
            if over:
                end("signed_out")
            yield
        finally:
            if timer is not None:
                timer.stop()
                timer.close()
            self._forget(caller, mark, end)

    def _timer(self, caller: Identity, end: End) -> Any:
        """Where there is a hub, it calls; in a thread `is_over` is asked instead."""
        if caller.expires_at is None or not self._node.hub.is_here():
            return None
        timer = gevent.get_hub().loop.timer(max(0.0, caller.expires_at - self._node.clock.now()))
        timer.start(end, "expired")
        return timer

    def is_over(self, caller: Identity | None) -> bool:
        return caller is not None and caller.expires_at is not None and self._node.clock.now() >= caller.expires_at

    def _forget(self, caller: Identity, mark: object, end: End) -> None:
        with self._lock:
            marks = self._lasting[caller.session_id or ""]
            del marks[mark]
            if not marks:
                del self._lasting[caller.session_id or ""]
            if caller.ticket and self._by_ticket.get(caller.ticket) is end:
                del self._by_ticket[caller.ticket]
