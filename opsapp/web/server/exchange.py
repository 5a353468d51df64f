"""One request's answer on its way out, and its line in the access log."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Iterator
from typing import Any
from wsgiref.handlers import format_date_time

from opsapp.web import redact

from .environ import Answered
from .head import RequestHead
from .peer import Peer
from .refusal import Refusal
from .shared import Shared

log = logging.getLogger(__name__)

_OURS = frozenset({"connection", "transfer-encoding", "keep-alive", "date"})
_BREAKS = re.compile(r"[\r\n\0]")
LEFT = 499  # in the log alone: the client went before there was an answer
HSTS = "Strict-Transport-Security: max-age=31536000"
_JOIN_UP_TO = 64 * 1024
_ID_BYTES, _DRAWN = 8, 256


def _ids() -> Iterator[str]:
    """Drawn many at a time: each question to the system lets another thread have the interpreter."""
    while True:
        drawn = secrets.token_hex(_ID_BYTES * _DRAWN)
        yield from (drawn[at : at + 2 * _ID_BYTES] for at in range(0, len(drawn), 2 * _ID_BYTES))


_IDS = _ids()


class Exchange:
    __slots__ = (
        "_chunked",
        "_left",
        "code",
        "keep",
        "method",
        "minor",
        "path",
        "peer",
        "query",
        "remote",
        "request_id",
        "route",
        "secure",
        "sent",
        "server",
        "started",
        "timeout",
        "took",
        "trace",
        "username",
    )

    def __init__(self, peer: Peer, remote: str, server: Shared):
        self.peer = peer
        self.remote = remote
        self.server = server
        self.timeout = server.limits.send_timeout
        self.started = time.perf_counter()
        self.request_id = next(_IDS)
        self.method, self.path, self.query, self.minor = "-", "-", "", 1
        self.keep = False
        self.secure = server.is_behind_tls()
        self.username: str | None = None
        self.route: str | None = None
        self.trace: str | None = None
        self.code = 0
        self.took: float | None = None  # seconds, until its answer began
        self.sent = 0
        self._chunked = False
        self._left: int | None = None

    def take(self, head: RequestHead) -> None:
        """The head is known now."""
        self.method, self.path, self.query, self.minor = head.method, head.path, head.query, head.minor
        self.keep = head.keep_alive

    def know(self, answered: Answered) -> None:
        """What the application has learned of it."""
        self.username, self.route, self.trace = answered.username, answered.route, answered.trace

    def begins(self, code: int) -> None:
        """Its answer leaves now."""
        self.code, self.took = code, time.perf_counter() - self.started

    def respond(self, status: str, headers: list[tuple[str, str]], body: bytes) -> None:
        code = int(status[:3])
        given, kept = None, []
        for pair in headers:
            if pair[0].lower() == "content-length":
                given = pair[1] if given is None else given
            else:
                kept.append(pair)
        if code >= 200 and code not in {204, 304}:
            known = given is not None and self.method == "HEAD" and not body
            kept.append(("Content-Length", str(given) if known else str(len(body))))
        if self.method == "HEAD" or code in {204, 304}:
            body = b""
        out = self._head(status, kept)
        self.begins(code)
        self.sent = len(body)
        if len(body) <= _JOIN_UP_TO:
            self.peer.send(out + body, self.timeout)
        else:
            self.peer.send(out, self.timeout)
            self.peer.send(body, self.timeout)

    def refuse(self, refusal: Refusal) -> None:
        self.keep = self.keep and refusal.keep
        self.respond(*refusal.parts())

    def begin(self, status: str, headers: list[tuple[str, str]]) -> None:
        """Without a length it is chunked, or ends with the connection."""
        length = next((value for name, value in headers if name.lower() == "content-length"), None)
        self._left = None if length is None else int(length)
        self._chunked = length is None and self.minor == 1
        if self._chunked:
            headers = [*headers, ("Transfer-Encoding", "chunked")]
        elif length is None:
            self.keep = False
        out = self._head(status, headers, ours=_OURS - {"transfer-encoding"})
        self.begins(int(status[:3]))
        self.peer.send(out, self.timeout)

    def piece(self, data: bytes) -> None:
        if not data:
            return
        if self._left is not None:
            self._left -= len(data)
            if self._left < 0:
                raise ValueError("a source gave more than the length it promised")
        self.peer.send(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data, self.timeout)
        self.sent += len(data)

    def end(self) -> None:
        """A body that fell short of its length can only be shown by closing."""
        if self._chunked:
            self.peer.send(b"0\r\n\r\n", self.timeout)
        elif self._left:
            self.keep = False

    def cut(self) -> None:
        """End before the source did: properly where that can still be said."""
        self.keep = False
        if self._chunked and self.peer.clean:
            self.peer.send(b"0\r\n\r\n", 1.0)

    def _head(self, status: str, headers: list[tuple[str, str]], ours: frozenset[str] = _OURS) -> bytes:
        if self.server.stopping or self.server.draining:
            self.keep = False
        lines = [f"HTTP/1.1 {status}"]
        names = set()
        for name, value in headers:
            low = name.lower()
            if low not in ours:
                names.add(low)
                lines.append(f"{name}: {value}")
        if _BREAKS.search("".join(lines)):
            log.error("answer dropped: line break in a header path=%s", redact.target(self.path, ""))
            raise Refusal(500, "internal", "The server failed to answer.", keep=True)
        lines.append(f"Date: {http_date()}")
        if "x-request-id" not in names:
            lines.append(f"X-Request-Id: {self.request_id}")
        if "x-content-type-options" not in names:
            lines.append("X-Content-Type-Options: nosniff")
        if self.secure:
            lines.append(HSTS)
        if not self.keep:
            lines.append("Connection: close")
        elif self.minor == 0:
            lines.append("Connection: keep-alive")
        return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n"

    def log(self) -> None:
        """Who has asked for nothing is in no count."""
        lines, took = self.server.access, time.perf_counter() - self.started
        if self.code or self.method != "-":
            self.server.requests.add(
                self.route, self.method, self.code or LEFT, took if self.took is None else self.took
            )
        if lines.wanted():
            lines.add(
                {
                    "remote": self.remote,
                    "method": self.method,
                    "path": redact.target(self.path, self.query),
                    "status": self.code or LEFT,
                    "bytes": self.sent,
                    "ms": round(took * 1000, 1),
                    "request_id": self.request_id,
                    "user": self.username or "-",
                    **({} if self.trace is None else {"trace_id": self.trace}),
                }
            )


_date: list[Any] = [0, ""]


def http_date() -> str:
    """The Date header, made once a second."""
    now = int(time.time())
    if now != _date[0]:
        _date[:] = [now, format_date_time(now)]
    return _date[1]
