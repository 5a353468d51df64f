"""Streams inside a session: files both ways, live logs, live metrics. Hub only; whoever waits here waits cooperatively.

Back-pressure: the side that sends has at most WINDOW bytes under way beyond what the other has granted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from gevent.event import Event

from opsapp.lib import problems
from opsapp.wire.fields import WireError
from opsapp.wire.frames import CHUNK, MAX_STREAMS, WINDOW, FileChunk, pack_chunk
from opsapp.wire.messages import Close, Credit, Finish, Lines, Open, StreamClosed, StreamMessage, StreamOpened, encode
from opsapp.wire.reports import Passed

GRANT_STEP = 4 * CHUNK
OPEN_S = 15.0
WRITE_S = 60.0

Send = Callable[[str | bytes], None]


class EndOfStream(Exception):
    """The stream has ended; `message` is the agent's `closed`."""

    def __init__(self, message: StreamClosed):
        super().__init__(message.code)
        self.message = message


class AgentStream:
    """A stream to an agent, from the server's side."""

    def __init__(self, number: int, kind: str, send: Send, on_end: Callable[[int], None]):
        self.number = number
        self.kind = kind
        self._send = send
        self._on_end = on_end
        self._items: deque[Any] = deque()
        self._event = Event()
        self._closed: StreamClosed | None = None
        self._credit = WINDOW
        self._granted = WINDOW
        self._received = 0
        self._owed = 0
        self._next_offset: int | None = None
        self.on_closed: Callable[[StreamClosed], Any] = lambda message: None

    # ---- from the session
    def on_message(self, message: StreamMessage) -> None:
        if isinstance(message, Credit):
            self._credit = min(self._credit + message.bytes, 2**31)
        elif isinstance(message, StreamClosed):
            self.end(message)
        else:
            if isinstance(message, Lines):
                self._count(sum(line.size for line in message.lines))
            elif isinstance(message, StreamOpened):
                self._next_offset = message.offset
            self._items.append(message)
        self._event.set()

    def on_chunk(self, chunk: FileChunk) -> None:
        if self.kind != "file_get" or self._next_offset is None or chunk.offset != self._next_offset:
            raise WireError("a chunk that nobody waits for", "bad_frame")
        self._next_offset += len(chunk.data)
        self._count(len(chunk.data))
        self._items.append(chunk.data)
        self._event.set()

    def _count(self, size: int) -> None:
        """A log's lines are counted in characters by the agent; it may be a frame ahead, never more."""
        self._received += size
        if self._received > self._granted + WINDOW:
            raise WireError("more was sent than the window allows", "too_fast")

    def end(self, message: StreamClosed) -> None:
        if self._closed is None:
            self._closed = message
            self._event.set()
            self._on_end(self.number)
            self.on_closed(message)

    # ---- from the reader or writer
    def take(self, timeout: float) -> Any:
        """The next piece, None when nothing comes in time; Ended once all has been taken."""
        while not self._items:
            if self._closed is not None:
                raise EndOfStream(self._closed)
            self._event.clear()
            if not self._event.wait(timeout):
                return None
        return self._items.popleft()

    def opened(self) -> StreamOpened:
        """The agent's answer to the opening, or the problem that it has."""
        try:
            item = self.take(OPEN_S)
        except EndOfStream as ended:
            raise problem_of(ended.message) from None
        if item is None:
            self.close()
            raise problems.Unavailable("The agent does not answer.", code="agent_silent", retry_after=5)
        if not isinstance(item, StreamOpened):
            raise WireError(f"{self.kind} began with something else", "bad_frame")
        return item

    def used(self, size: int) -> None:
        """Note that so many bytes have been passed on: the agent may send as many more."""
        self._owed += size
        if self._owed >= GRANT_STEP or self.kind == "logs":
            owed, self._owed = self._owed, 0
            self._granted += owed
            if owed and self._closed is None:
                self._send(encode(Credit(self.number, owed)))

    def write(self, offset: int, data: bytes) -> None:
        """Write data once the agent's window allows it; Ended when the agent has given up."""
        while self._credit < len(data):
            if self._closed is not None:
                raise EndOfStream(self._closed)
            self._event.clear()
            if not self._event.wait(WRITE_S):
                raise problems.Unavailable("The agent has stopped receiving.", code="agent_silent", retry_after=5)
        if self._closed is not None:
            raise EndOfStream(self._closed)
        self._credit -= len(data)
        self._send(pack_chunk(FileChunk(self.number, offset, data)))

    def finish(self, size: int, sha256: str) -> StreamClosed:
        """End the file, and return what the agent made of it."""
        if self._closed is None:
            self._send(encode(Finish(self.number, size, sha256)))
        while True:
            try:
                if self.take(WRITE_S) is None:
                    raise problems.Unavailable("The agent does not answer.", code="agent_silent", retry_after=5)
            except EndOfStream as ended:
                return ended.message

    def close(self, why: str = "left") -> None:
        """The reader has left; the agent ends its side."""
        if self._closed is None:
            self._send(encode(Close(self.number)))
            self.end(StreamClosed(self.number, why))


class AgentStreams:
    def __init__(self, send: Send):
        self._send = send
        self._number = 0
        self._open: dict[int, AgentStream] = {}

    def open(self, kind: str, params: Passed) -> AgentStream:
        if len(self._open) >= MAX_STREAMS:
            raise problems.TooMany("Too many streams of this agent are open.", code="too_many_streams", retry_after=5)
        self._number += 1
        stream = AgentStream(self._number, kind, self._send, self._forget)
        self._open[stream.number] = stream
        self._send(encode(Open(stream.number, kind, params)))
        return stream

    @property
    def count(self) -> int:
        return len(self._open)

    def _forget(self, number: int) -> None:
        self._open.pop(number, None)

    def on_message(self, message: StreamMessage) -> None:
        stream = self._open.get(message.stream)
        if stream is not None:
            stream.on_message(message)

    def cost(self, chunk: FileChunk) -> float:
        """How much of the agent's allowance of messages this chunk takes. A whole chunk that somebody waits for takes
        nothing, because the window limits its speed. Small chunks do, and so does what nobody waits for."""
        return max(0.0, 1.0 - len(chunk.data) / CHUNK) if chunk.stream in self._open else 1.0

    def on_chunk(self, chunk: FileChunk) -> None:
        stream = self._open.get(chunk.stream)
        if stream is not None:
            stream.on_chunk(chunk)

    def end(self) -> None:
        """The session is over, and so are they."""
        for stream in list(self._open.values()):
            stream.end(StreamClosed(stream.number, "gone", "the agent's session ended"))


def problem_of(closed: StreamClosed) -> problems.Problem:
    """The problem as the caller is told of it."""
    code, message = closed.code, closed.message
    if code == "not_found":
        return problems.NotFound(message or "There is no such file.", code="no_such_file")
    if code == "not_allowed":
        return problems.Forbidden(message or "The agent does not permit this path.", code="path_not_allowed")
    if code == "too_large":
        return problems.TooLarge(message or "The file is too large.")
    if code == "bad_request":
        return problems.Invalid({"path": message or "cannot be used"})
    if code in ("gone", "busy"):
        return problems.Unavailable(message or "The agent went away.", code="agent_gone", retry_after=5)
    return problems.UpstreamFailed(
        f"The agent could not do it: {code}" + (f": {message}" if message else ""), code=code
    )
