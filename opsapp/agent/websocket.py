"""One WebSocket to the server: a thread owns the socket, others put frames into a bounded queue.

Must not: know messages. Whole frames go to `on_text` and `on_binary` in the owner's thread.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import threading
import time
from typing import Any, Callable, Deque, Union

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Message,
    Ping,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from opsapp.wire.frames import CLOSE_BAD_MESSAGE, MAX_BINARY_FRAME, MAX_TEXT_FRAME
from opsapp.wire.handles import ready

from .transport import Address, TransportError, connect

log = logging.getLogger("websocket")
HANDSHAKE_S = 15.0
SEND_STALL_S = 30.0  # no byte of what is queued could leave for so long: the connection is dead
QUEUE_BYTES = 512 * 1024  # file senders wait above this


class SessionRefused(TransportError):
    """The server answered the upgrade with a plain status."""

    def __init__(self, status: int):
        super().__init__(f"the session was refused with status {status}")
        self.status = status


class SessionClosed(TransportError):
    """`code` says why when the server told."""

    def __init__(self, code: int, reason: str = ""):
        super().__init__(f"the session ended: {code} {reason}".strip())
        self.code = code


class ServerSocket:
    def __init__(self, address: Address, path: str, key: str):
        self._sock = connect(address)
        self.local_ip = self._sock.getsockname()[0]
        self._ws = WSConnection(ConnectionType.CLIENT)
        self._queue: Deque[Message] = collections.deque()
        self._queued = 0
        self._room = threading.Condition()
        self._out = memoryview(b"")
        self._partial: list = []
        self._partial_size = 0
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake_read, False)
        self._closed = False
        self.heard_at = self._moved_at = time.monotonic()
        self.on_text: Callable[[str], None] = _nobody
        self.on_binary: Callable[[bytes], None] = _nobody
        try:
            self._shake_hands(address, path, key)
        except BaseException:
            self.close()
            raise

    # ---- from any thread
    def send(self, frame: Union[str, bytes]) -> None:
        """Send a frame; TransportError when the connection is gone."""
        message: Message = TextMessage(data=frame) if isinstance(frame, str) else BytesMessage(data=frame)
        with self._room:
            if self._closed:
                raise TransportError("the session is closed")
            self._queue.append(message)
            self._queued += len(frame)
        self.wake()

    def wait_for_room(self, seconds: float = SEND_STALL_S) -> None:
        """Wait until there is room to send, for bulk senders."""
        with self._room:
            if not self._room.wait_for(lambda: self._closed or self._queued < QUEUE_BYTES, seconds) or self._closed:
                raise TransportError("the session does not take more")

    def wake(self) -> None:
        with self._room:  # under the lock: a closed handle's number may be somebody else's by now
            if not self._closed:
                with contextlib.suppress(BlockingIOError):  # awake already
                    os.write(self._wake_write, b"x")

    # ---- the owner's thread
    def turn(self, seconds: float) -> None:
        """Wait for at most `seconds`; Closed when the connection has ended."""
        for event in self._ws.events():  # what came along with the answer to the upgrade
            self._on_event(event)
        self._fill()
        if self._pending():
            seconds = 0.0
        sock = self._sock.fileno()
        readable, writable = ready([sock, self._wake_read], [sock] if self._out else [], seconds)
        if self._wake_read in readable:
            _empty(self._wake_read)
        if writable:
            self._flush()
        if sock in readable or self._pending():
            self._receive()
        now = time.monotonic()
        if not self._out and not self._queue:
            self._moved_at = now
        elif now - self._moved_at > SEND_STALL_S:
            raise SessionClosed(1006, "the server takes nothing any more")

    def end(self, code: int, reason: str = "") -> None:
        """Say goodbye, then close. Never raises."""
        try:
            self._fill()
            self._out = memoryview(bytes(self._out) + self._ws.send(CloseConnection(code=code, reason=reason[:100])))
            deadline = time.monotonic() + 2.0
            while (self._out or self._queue) and time.monotonic() < deadline:
                ready([], [self._sock.fileno()], 0.2)
                self._flush()
                self._fill()
        except (OSError, LocalProtocolError) as error:
            log.debug("goodbye was not said: %s", error)
        finally:
            self.close()

    def close(self) -> None:
        with self._room:
            if self._closed:
                return
            self._closed = True
            self._queue.clear()
            self._room.notify_all()
            self._sock.close()
            os.close(self._wake_read)
            os.close(self._wake_write)

    # ---- inside
    def _shake_hands(self, address: Address, path: str, key: str) -> None:
        self._sock.settimeout(HANDSHAKE_S)
        asked = Request(
            host=address.authority, target=address.prefix + path, extra_headers=[(b"X-Agent-Key", key.encode())]
        )
        deadline = time.monotonic() + HANDSHAKE_S
        try:
            self._sock.sendall(self._ws.send(asked))
            while True:
                for event in self._ws.events():
                    if isinstance(event, AcceptConnection):
                        self._sock.setblocking(False)
                        self.heard_at = time.monotonic()
                        return
                    if isinstance(event, (RejectConnection, RejectData)):
                        raise SessionRefused(getattr(event, "status_code", 0))
                if time.monotonic() > deadline:
                    raise TransportError("the server does not answer the upgrade")
                self._ws.receive_data(self._sock.recv(65536) or None)
        except (RemoteProtocolError, LocalProtocolError) as error:
            raise TransportError(f"the server does not speak WebSocket: {error}") from None
        except TransportError:
            raise
        except OSError as error:
            raise TransportError(f"the upgrade failed: {error}") from None

    def _fill(self) -> None:
        with self._room:
            while self._queue and len(self._out) < 262144:
                message = self._queue.popleft()
                self._queued -= len(message.data)
                self._out = memoryview(bytes(self._out) + self._ws.send(message))
            self._room.notify_all()

    def _flush(self) -> None:
        try:
            sent = self._sock.send(self._out)
        except OSError as error:
            if _again(error):
                return
            raise SessionClosed(1006, str(error)) from None
        if sent:
            self._moved_at = time.monotonic()
            self._out = self._out[sent:]

    def _pending(self) -> bool:
        pending = getattr(self._sock, "pending", None)
        return bool(pending and pending())

    def _receive(self) -> None:
        try:
            data = self._sock.recv(262144)
        except OSError as error:
            if _again(error):
                return
            raise SessionClosed(1006, str(error)) from None
        self.heard_at = time.monotonic()
        try:
            self._ws.receive_data(data or None)
            for event in self._ws.events():
                self._on_event(event)
        except RemoteProtocolError as error:
            raise SessionClosed(1002, str(error)) from None

    def _on_event(self, event: Any) -> None:
        if isinstance(event, (TextMessage, BytesMessage)):
            self._gather(event)
        elif isinstance(event, Ping):
            self._out = memoryview(bytes(self._out) + self._ws.send(event.response()))
        elif isinstance(event, CloseConnection):
            raise SessionClosed(int(event.code), event.reason or "")

    def _gather(self, event: Any) -> None:
        """Gather a message's frames; one that grows too large ends the session."""
        most = MAX_TEXT_FRAME if isinstance(event, TextMessage) else MAX_BINARY_FRAME
        self._partial_size += len(event.data)
        if self._partial_size > most:
            raise SessionClosed(CLOSE_BAD_MESSAGE, "frame too large")
        self._partial.append(event.data)
        if not event.message_finished:
            return
        parts, self._partial, self._partial_size = self._partial, [], 0
        if isinstance(event, TextMessage):
            self.on_text("".join(parts))
        else:
            self.on_binary(b"".join(bytes(part) for part in parts))


def _again(error: OSError) -> bool:
    """Whether there is nothing to read or no room to write just now (TLS says so in its own way)."""
    return isinstance(error, BlockingIOError) or type(error).__name__ in ("SSLWantReadError", "SSLWantWriteError")


def _nobody(_frame: Any) -> None:
    raise SessionClosed(CLOSE_BAD_MESSAGE, "nobody listens yet")


def _empty(handle: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(handle, 4096):
            pass
