"""The other end of a connection: buffered reading with deadlines, writing that notices who does not read. Hub only. The
buffer keeps what a client sends early (a pipelined request, a frame behind an upgrade)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent import get_hub
from gevent import socket as gsocket

from opsapp.runtime.internals import peek_now, receive_now
from opsapp.web.answers import PeerLost, PeerSlow

RECV = 32 * 1024
SEND = 64 * 1024
EARLY = 64 * 1024
LINGER_S = 2.0


class Interrupted(BaseException):
    """Thrown into a connection's greenlet: the client has gone, the server stops, the place is needed."""


class Peer:
    __slots__ = ("_gone", "_watcher", "buffer", "clean", "sock")

    def __init__(self, sock: Any):
        self.sock = sock
        self.buffer = bytearray()
        self.clean = True  # no half-written piece is on its way
        self._watcher: Any = None
        self._gone: Callable[[], None] | None = None

    def fill(self, timeout: float) -> bool:
        """False at the end of what the client sends."""
        if timeout <= 0:
            raise PeerSlow
        self.sock.settimeout(timeout)
        try:
            data = self.sock.recv(RECV)
        except gsocket.timeout:
            raise PeerSlow from None
        except OSError as problem:
            raise PeerLost from problem
        self.buffer += data
        return bool(data)

    def take(self, size: int) -> bytes:
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def recv(self, timeout: float) -> bytes:
        if not self.buffer:
            self.fill(timeout)
        return self.take(RECV)

    def send(self, data: bytes | bytearray, timeout: float) -> None:
        """`timeout` bounds each step: a slow reader is served, one that stopped is not."""
        if not self.clean:
            raise PeerLost("an earlier piece was cut off")
        sock = self.sock
        sock.settimeout(timeout)
        self.clean = False
        try:
            if len(data) <= SEND:
                sent = sock.send(data)
                if sent == len(data):
                    self.clean = True
                    return
                rest = memoryview(data)[sent:]
            else:
                rest = memoryview(data)
            while rest:
                rest = rest[sock.send(rest[:SEND]) :]
        except (OSError, gsocket.timeout) as problem:
            raise PeerLost from problem
        self.clean = True

    def watch(self, gone: Callable[[], None]) -> None:
        """Call `gone` (in the hub) once the client has closed, while nobody reads from it. Bytes before that are kept;
        more than a head's worth of them behind a stream is nobody honest."""
        self._gone = gone
        self._watcher = get_hub().loop.io(self.sock.fileno(), 1)
        self._watcher.start(self._look)

    def _look(self) -> None:
        try:
            data = receive_now(self.sock, RECV)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        self.buffer += data
        if not data or len(self.buffer) > EARLY:
            gone = self._gone
            self.unwatch()
            if gone is not None:
                gone()

    def has_left(self) -> bool:
        """Whether the client has closed and nothing is left to read. From any thread, while nobody reads from it."""
        try:
            return not peek_now(self.sock)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True

    def unwatch(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher.close()
            self._watcher = self._gone = None

    def linger(self) -> None:
        """Closing over unread bytes would reset the answer away."""
        self.buffer.clear()
        try:
            self.sock.shutdown(gsocket.SHUT_WR)
            deadline = time.monotonic() + LINGER_S
            while (left := deadline - time.monotonic()) > 0:
                self.sock.settimeout(left)
                if not self.sock.recv(SEND):
                    return
                gevent.sleep(0)
        except OSError:
            return

    def stop_reading(self) -> None:
        """Who waits for this client's bytes wakes up; an answer can still be sent."""
        try:
            self.sock.shutdown(gsocket.SHUT_RD)
        except OSError:
            return

    def hang_up(self) -> None:
        try:
            self.sock.shutdown(gsocket.SHUT_RDWR)
        except OSError:
            return

    def close(self) -> None:
        self.unwatch()
        self.sock.close()
