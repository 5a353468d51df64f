"""Server-sent events: how one is written, where a reader left off, a bounded feed for a Stream, on the hub or in a
plain thread. Must not be here: which events there are."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from gevent.event import Event as HubEvent

from .answers import Head, Stream

CONTENT_TYPE = "text/event-stream"
COMMENT_EVERY_S = 15.0
COMMENT = b": still here\n\n"
PULSE = b"event: pulse\ndata: {}\n\n"
POLL_EVERY_S = 0.25
RETRY_MS = 2000
FEED_SIZE = 1000
_LONGEST_ID = 200


def encode(data: Any, *, event: str | None = None, id: str | int | None = None) -> bytes:
    """`data` that is not text is written as JSON; line breaks cannot break out of their field."""
    text = data if isinstance(data, str) else json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    lines = []
    if id is not None:
        lines.append(f"id: {_one_line(str(id))}")
    if event is not None:
        lines.append(f"event: {_one_line(event)}")
    lines += [f"data: {line}" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "replace")


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ").replace("\0", " ")


def last_event_id(headers: Any, query: Any = None) -> str | None:
    """The header, or the query's for a first connection; None when there is none, or it cannot be one."""
    given = headers.get("Last-Event-ID")
    if given is None and query is not None:
        given = query.get("last_event_id")
    if not given or len(given) > _LONGEST_ID or not given.isprintable():
        return None
    return given


class Feed:
    """A source of events for a Stream: whoever has news puts it.

    `opening(feed)` runs before the headers go out (it may raise a problem): it subscribes and puts what the reader
    missed. `closing(feed)` runs however the stream ends. Without a hub the stream's thread calls `poll()`. A reader
    that falls `size` events behind is ended: it reconnects with its `Last-Event-ID`. While nothing happens there is a
    comment, or an event `pulse` for a reader that asks for it.
    """

    def __init__(
        self,
        node: Any,
        *,
        opening: Callable[[Feed], None] | None = None,
        closing: Callable[[Feed], None] | None = None,
        poll: Callable[[], Any] | None = None,
        size: int = FEED_SIZE,
        comment_every: float = COMMENT_EVERY_S,
        pulse: float | None = None,
    ):
        self._node = node
        self._opening, self._closing, self._poll = opening, closing, poll
        self._size = size
        self._quiet = COMMENT if pulse is None else PULSE
        self._comment_every = comment_every if pulse is None else pulse
        self._events: deque[bytes] = deque()
        self._ended: bytes | None = None
        self._signal: Any = None
        self._on_hub = False

    def open(self) -> Head:
        self._on_hub = self._node is not None and self._node.hub.is_here()
        self._signal = HubEvent() if self._on_hub else threading.Event()
        try:
            if self._opening is not None:
                self._opening(self)
        except BaseException:
            self.close()
            raise
        return Head(headers={"X-Accel-Buffering": "no", "Cache-Control": "no-store"})

    def put(self, data: Any, *, event: str | None = None, id: str | int | None = None) -> None:
        """Can be called from any thread. Ends the stream when its reader has fallen too far behind."""
        if self._ended is not None:
            return
        if len(self._events) >= self._size:
            self.end("behind")
            return
        self._events.append(encode(data, event=event, id=id))
        self._wake()

    def end(self, reason: str) -> None:
        """Can be called from any thread: what is queued is still sent, then an `end` event."""
        if self._ended is None:
            self._ended = encode({"reason": reason}, event="end")
            self._wake()

    @property
    def ended(self) -> bool:
        return self._ended is not None

    def _wake(self) -> None:
        signal = self._signal
        if signal is None:
            return
        if self._on_hub and not self._node.hub.is_here():
            self._node.post(signal.set)
        else:
            signal.set()

    def __iter__(self) -> Iterator[bytes]:
        yield b"retry: %d\n\n" % RETRY_MS
        quiet_since = time.monotonic()
        while True:
            self._signal.clear()
            if self._events:
                yield b"".join(self._take())
                quiet_since = time.monotonic()
                continue
            if self._ended is not None:
                yield self._ended
                return
            left = quiet_since + self._comment_every - time.monotonic()
            if left <= 0:
                yield self._quiet
                quiet_since = time.monotonic()
            elif self._poll is None or self._on_hub:
                self._signal.wait(left)
            elif not self._signal.wait(min(left, POLL_EVERY_S)):
                self._poll()

    def _take(self) -> Iterator[bytes]:
        while self._events:
            yield self._events.popleft()

    def close(self) -> None:
        if self._ended is None:
            self._ended = b""
        closing, self._closing = self._closing, None
        if closing is not None:
            closing(self)


def event_stream(feed: Any) -> Stream:
    return Stream(feed, CONTENT_TYPE)
