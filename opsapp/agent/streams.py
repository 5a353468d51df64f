"""Streams of one session: opens them by kind, routes what comes in, ends them all with the session.

Must not: outlive the session, block the thread that owns the socket, hold a file in memory.
"""

from __future__ import annotations

import errno
import logging
import threading
from typing import Any, Callable, Dict, NamedTuple, Optional

from opsapp.wire.commands import read_stream_params
from opsapp.wire.fields import WireError
from opsapp.wire.frames import MAX_STREAMS, WINDOW, FileChunk, pack_chunk
from opsapp.wire.messages import Close, Credit, Finish, Open, StreamClosed, StreamMessage, StreamOpened, encode

from .paths import NotAllowed
from .transport import TransportError
from .websocket import ServerSocket

log = logging.getLogger("streams")


class StoredFile(NamedTuple):
    path: Optional[str] = None
    size: Optional[int] = None
    sha256: Optional[str] = None


class StreamStopped(Exception):
    """`code` is one of messages.STREAM_ENDS. `stored`: what became of a file that was sent."""

    def __init__(self, code: str, message: str = "", stored: Optional[StoredFile] = None):
        super().__init__(message or code)
        self.code = code
        self.stored = stored or StoredFile()


class OpenStream:
    """The sending side of a stream, with the window the reader grants, and whether somebody still reads."""

    def __init__(self, number: int, params: Any, ws: ServerSocket):
        self.number = number
        self.params = params
        self._ws = ws
        self._credit = WINDOW
        self._change = threading.Condition()
        self.left = threading.Event()
        self.fault: Optional[StreamStopped] = None  # what the reader did wrong

    def say(self, message: StreamMessage) -> None:
        self._ws.send(encode(message))

    def send_chunk(self, offset: int, data: bytes) -> None:
        """Waits for the window; Ended when the reader has left."""
        with self._change:
            while self._credit < len(data) and not self.left.is_set():
                self._change.wait()
            self._credit -= len(data)
        if self.left.is_set():
            raise StreamStopped("left")
        self._ws.wait_for_room()
        self._ws.send(pack_chunk(FileChunk(self.number, offset, data)))

    def take_credit(self, size: int) -> bool:
        """True when there was enough credit. It does not wait: the caller drops what has none."""
        with self._change:
            if self._credit < size:
                return False
            self._credit -= size
            return True

    def grant(self, size: int) -> None:
        with self._change:
            self._credit = min(self._credit + size, 2**31)
            self._change.notify_all()

    def leave(self) -> None:
        with self._change:
            self.left.set()
            self._change.notify_all()

    # what a kind may want to hear; most do not
    def on_chunk(self, chunk: FileChunk) -> None:
        raise StreamStopped("bad_request", "this stream takes no data")

    def on_finish(self, message: Finish) -> None:
        raise StreamStopped("bad_request", "this stream takes no data")

    def run(self) -> None:
        """Run the stream, which ends by raising Ended or returning."""
        raise NotImplementedError


class MetricsStream(OpenStream):
    """While it is open, reports come every 5 s; they travel as ordinary reports."""

    def __init__(self, number: int, params: Any, ws: ServerSocket, on_metrics: Callable[[bool], None]):
        super().__init__(number, params, ws)
        self._on_metrics = on_metrics

    def run(self) -> None:
        self._on_metrics(True)
        try:
            self.say(StreamOpened(self.number))
            self.left.wait()
        finally:
            self._on_metrics(False)
        raise StreamStopped("left")


Make = Callable[[int, Any, ServerSocket], OpenStream]


class OpenStreams:
    def __init__(self, kinds: Dict[str, Make]):
        self._kinds = kinds
        self._ws: Optional[ServerSocket] = None
        self._lock = threading.Lock()
        self._open: Dict[int, OpenStream] = {}

    def begin(self, ws: ServerSocket) -> None:
        self._ws = ws

    def end(self) -> None:
        with self._lock:
            for stream in self._open.values():
                stream.leave()
            self._open.clear()
            self._ws = None

    # ---- from the session's thread
    def on_message(self, message: StreamMessage) -> None:
        if isinstance(message, Open):
            self._begin(message.stream, message.opens, message.params)
            return
        stream = self._open.get(message.stream)
        if stream is None:
            return  # it has ended meanwhile: its `closed` is on the way
        if isinstance(message, Credit):
            stream.grant(message.bytes)
        elif isinstance(message, Close):
            stream.leave()
        elif isinstance(message, Finish):
            self._guard(stream, lambda: stream.on_finish(message))

    def on_chunk(self, chunk: FileChunk) -> None:
        stream = self._open.get(chunk.stream)
        if stream is not None:
            self._guard(stream, lambda: stream.on_chunk(chunk))

    # ---- inside
    def _begin(self, number: int, kind: str, params: Any) -> None:
        ws = self._ws
        if ws is None:
            return
        try:
            stream = self._made(number, kind, params, ws)
        except StreamStopped as refusal:
            ws.send(encode(StreamClosed(number, refusal.code, "" if refusal.code == str(refusal) else str(refusal))))
            return
        with self._lock:
            self._open[number] = stream
        threading.Thread(target=self._run, args=(stream,), daemon=True, name=f"stream-{kind}").start()

    def _made(self, number: int, kind: str, params: Any, ws: ServerSocket) -> OpenStream:
        if number in self._open or len(self._open) >= MAX_STREAMS:
            raise StreamStopped("busy", "too many streams are open")
        if kind not in self._kinds:
            raise StreamStopped("unsupported")
        try:
            return self._kinds[kind](number, read_stream_params(kind, params), ws)
        except WireError as error:
            raise StreamStopped("bad_request", str(error)) from None

    def _run(self, stream: OpenStream) -> None:
        try:
            stream.run()
            self._close(stream, stream.fault or StreamStopped("end"))
        except StreamStopped as ended:
            self._close(stream, stream.fault or ended)
        except TransportError as error:
            self._close(stream, StreamStopped("gone", str(error)))
        except Exception as error:  # one stream must not take the others along
            log.exception("stream %s failed inside the agent", stream.number)
            self._close(stream, StreamStopped("io_error", f"{type(error).__name__}: {error}"))

    def _guard(self, stream: OpenStream, act: Callable[[], None]) -> None:
        try:
            act()
        except StreamStopped as ended:
            stream.fault = ended  # first: its thread, once it has left, says why
            stream.leave()

    def _close(self, stream: OpenStream, ended: StreamStopped) -> None:
        with self._lock:
            if self._open.get(stream.number) is not stream:
                return
            del self._open[stream.number]
        try:
            stream.say(StreamClosed(stream.number, ended.code, str(ended), *ended.stored))
        except TransportError as error:
            log.debug("nobody to tell that a stream ended: %s", error)


def explain(error: OSError) -> StreamStopped:
    if isinstance(error, NotAllowed):
        return StreamStopped("not_allowed", str(error))
    codes = {
        errno.ENOENT: "not_found",
        errno.ENOTDIR: "not_found",
        errno.EACCES: "not_allowed",
        errno.EPERM: "not_allowed",
        errno.ELOOP: "not_allowed",
        errno.ENOSPC: "no_space",
        errno.EDQUOT: "no_space",
        errno.EISDIR: "bad_request",
        errno.EROFS: "not_allowed",
        errno.ENAMETOOLONG: "bad_request",
        errno.EFBIG: "too_large",
        errno.ENXIO: "bad_request",
    }
    return StreamStopped(codes.get(error.errno or 0, "io_error"), error.strerror or str(error))
