"""A WebSocket on the hub, for an Upgrade's handler. wsproto frames; here are the message cap, ping and idle timers,
back-pressure, sending from other greenlets and the closing handshake. Must not be here: who may connect, what is
said."""

from __future__ import annotations

import time
from typing import Any, Protocol

import gevent
from gevent.lock import RLock
from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Message, Ping, Pong, TextMessage
from wsproto.utilities import LocalProtocolError

from .answers import PeerLost, PeerSlow

NORMAL, GOING_AWAY, POLICY, TOO_BIG, INTERNAL = 1000, 1001, 1008, 1009, 1011
ABNORMAL = 1006

_BREATHE_EVERY = 64
_CLOSE_WAIT_S = 2.0


class Closed(Exception):
    """Sending on a socket that is closing or closed."""


class Wire(Protocol):
    """What a WebSocket needs of the connection."""

    def recv(self, timeout: float) -> bytes: ...

    def send(self, data: bytes, timeout: float) -> None: ...

    def linger(self) -> None: ...

    def hang_up(self) -> None: ...


class WebSocket:
    def __init__(
        self, wire: Wire, *, max_message: int, ping_every: float, idle_after: float, send_timeout: float = 30.0
    ):
        self._wire = wire
        self._frames = Connection(ConnectionType.SERVER)
        self._max = max_message
        self._ping_every = ping_every
        self._idle_after = idle_after
        self._send_timeout = send_timeout
        self._sending = RLock()
        self._parts: list[str | bytes] = []
        self._size = 0
        self._events = 0
        self._heard = self._pinged = time.monotonic()
        self._ended = False
        self._left_at: float | None = None  # when the handler went to do something else
        self.fell_silent = False
        self.close_code: int | None = None
        self.close_reason = ""

    @property
    def open(self) -> bool:
        return not self._ended and self._frames.state is ConnectionState.OPEN

    def receive(self, timeout: float | None = None) -> str | bytes | None:
        """The next message; None once the session is closed (`close_code` says how). TimeoutError after `timeout`."""
        self._back()
        try:
            return self._received(None if timeout is None else time.monotonic() + timeout)
        finally:
            self._left_at = time.monotonic()

    def _back(self) -> None:
        """While the handler does something else nobody listens, and the peer's silence says nothing."""
        if self._left_at is not None:
            self._heard += time.monotonic() - self._left_at

    def _received(self, until: float | None) -> str | bytes | None:
        while True:
            message = self._next()
            if message is not None or not self.open:
                return message
            now = time.monotonic()
            if until is not None and now >= until:
                raise TimeoutError
            self._keep_alive(now)
            if self.open:
                self._read(now, until)

    def send(self, message: str | bytes) -> None:
        """Waits while the peer is slow; Closed when it is gone or closing."""
        event = TextMessage(data=message) if isinstance(message, str) else BytesMessage(data=message)
        with self._sending:
            self._write(event)

    def close(self, code: int = NORMAL, reason: str = "") -> None:
        """Begin the closing handshake, from any greenlet; `receive` answers None from then on."""
        with self._sending:
            if self.open:
                self.close_code, self.close_reason = code, reason
                try:
                    self._write(CloseConnection(code=code, reason=reason))
                except Closed:
                    self._ended = True
                else:
                    gevent.spawn_later(_CLOSE_WAIT_S, self._give_up)

    def _give_up(self) -> None:
        """The peer has not answered the close: who waits in `receive` must not wait for it."""
        if not self._ended:
            self._wire.hang_up()

    def fail(self) -> None:
        """The handler broke off."""
        self.close(INTERNAL, "internal error")

    def finish(self, patience: float) -> None:
        """The server calls it after the handler. It closes, and gives the peer a moment to answer."""
        self.close()
        deadline = time.monotonic() + patience
        try:
            while not self._ended and self._frames.state is ConnectionState.LOCAL_CLOSING:
                left = deadline - time.monotonic()
                data = self._wire.recv(left) if left > 0 else b""
                if not data:
                    break
                self._frames.receive_data(data)
                for _ in self._frames.events():
                    self._breathe()
        except PeerLost:
            patience = 0.0
        self._ended = True
        if patience:
            self._wire.linger()

    def _keep_alive(self, now: float) -> None:
        if now - self._heard >= self._idle_after:
            self.fell_silent = True
            self._lost()
        elif now - max(self._heard, self._pinged) >= self._ping_every:
            self._pinged = now
            try:
                with self._sending:
                    self._write(Ping(payload=b"opsapp"))
            except Closed:
                self._lost()

    def _read(self, now: float, until: float | None) -> None:
        next_timer = min(max(self._heard, self._pinged) + self._ping_every, self._heard + self._idle_after)
        wait = max(0.001, (next_timer if until is None else min(next_timer, until)) - now)
        try:
            data = self._wire.recv(wait)
        except PeerSlow:
            return
        except PeerLost:
            self._lost()
            return
        if not data:
            self._lost()
            return
        self._heard = time.monotonic()
        self._frames.receive_data(data)

    def _next(self) -> str | bytes | None:
        """Frames behind it wait until the handler asks again: it answers what came first before a fault behind it
        closes the session, and nothing piles up."""
        if not self.open:
            return None
        for event in self._frames.events():
            self._breathe()
            message = self._on(event)
            if message is not None or not self.open:
                return message
        return None

    def _on(self, event: Any) -> str | bytes | None:
        if isinstance(event, Message):
            return self._on_part(event)
        if isinstance(event, Ping):
            self._answer(event.response())
        elif isinstance(event, CloseConnection):
            if self.close_code is None:
                self.close_code, self.close_reason = int(event.code), event.reason or ""
            self._answer(event.response())
            self._ended = True
        elif not isinstance(event, Pong):
            raise TypeError(f"unknown event {event!r}")
        return None

    def _on_part(self, event: Message) -> str | bytes | None:
        if event.data:
            part = event.data if isinstance(event.data, str) else bytes(event.data)
            self._size += len(part) if isinstance(part, bytes) or part.isascii() else len(part.encode())
            self._parts.append(part)
        if self._size > self._max:
            self._parts.clear()
            self.close(TOO_BIG, f"a message may have {self._max} bytes")
            return None
        if not event.message_finished:
            return None
        empty: str | bytes = "" if isinstance(event, TextMessage) else b""
        message = empty.join(self._parts)  # type: ignore[arg-type]
        self._parts.clear()
        self._size = 0
        return message

    def _answer(self, event: Any) -> None:
        try:
            with self._sending:
                self._write(event)
        except Closed:
            self._lost()

    def _write(self, event: Any) -> None:
        if self._ended:
            raise Closed
        try:
            data = self._frames.send(event)
        except LocalProtocolError as problem:
            raise Closed from problem
        try:
            self._wire.send(bytes(data), self._send_timeout)
        except PeerLost as problem:
            self._ended = True
            raise Closed from problem

    def _lost(self) -> None:
        self._ended = True
        if self.close_code is None:
            self.close_code = ABNORMAL

    def _breathe(self) -> None:
        """A peer that sends thousands of tiny frames shares the hub with everybody else."""
        self._events += 1
        if self._events % _BREATHE_EVERY == 0:
            gevent.sleep(0)
