"""One connection's requests, each read on the hub and answered by the application in a native thread."""

from __future__ import annotations

import logging
import time
from typing import Any

import gevent

from opsapp.lib.problems import Malformed, TooLarge
from opsapp.web.answers import PeerLost, PeerSlow

from . import body as bodies
from . import delivery, environ
from .connection import Connection
from .exchange import Exchange
from .head import RequestHead, check_unfinished, parse
from .peer import Interrupted
from .refusal import Refusal, bad
from .shared import Shared
from .uploads import Pace

log = logging.getLogger(__name__)

_BLANK_LINES = 4


class RequestLoop(Connection):
    __slots__ = ("_fresh",)

    def __init__(self, server: Shared, sock: Any, address: tuple):
        super().__init__(server, sock, address)
        self._fresh = True

    def run(self) -> None:
        try:
            while self._next() and not self.ending:
                pass
        except (PeerLost, Interrupted):
            pass
        finally:
            self.peer.close()

    def _next(self) -> bool:
        """One request; whether another may follow."""
        self.server.waiting[self] = None
        try:
            if not self._wait():
                return False
            exchange = Exchange(self.peer, self.remote[0], self.server)
            try:
                return self._serve(exchange)
            finally:
                exchange.log()
        finally:
            self.server.waiting.pop(self, None)

    def _wait(self) -> bool:
        limits = self.server.limits
        patience = limits.head_timeout if self._fresh else limits.idle_timeout
        self._fresh = False
        return bool(self.peer.buffer) or (not self.server.stopping and self.peer.fill(patience))

    def _serve(self, exchange: Exchange) -> bool:
        body: Any = None
        try:
            head = self._head()
            if head is None:
                return False
            exchange.take(head)
            if "x-forwarded-for" in head.headers:
                exchange.remote = self.server.client_of(self.remote[0], head.headers["x-forwarded-for"])
            if head.headers.get("x-forwarded-proto", "").lower() == "https" and self.server.vouches(self.remote[0]):
                exchange.secure = True
            body = self._body(head)
            answered = self._ask(exchange, head, body)
            if not body.done:
                exchange.keep = False
            delivery.deliver(self, exchange, head, body, answered)
        except Refusal as refusal:
            exchange.refuse(refusal)
        except PeerSlow:
            if exchange.code:
                raise
            exchange.refuse(Refusal(408, "timeout", "The request did not arrive in time."))
        except PeerLost:
            raise
        except Exception:
            log.exception("answer failed request_id=%s", exchange.request_id)
            if exchange.code:
                return False
            exchange.refuse(Refusal(500, "internal", "The server failed to answer."))
        if not exchange.keep:
            if body is None or not body.done:
                self.peer.linger()
            return False
        return not self.server.stopping

    def _head(self) -> RequestHead | None:
        buffer = self.peer.buffer
        deadline = time.monotonic() + self.server.limits.head_timeout
        blank = seen = 0
        while True:
            if buffer[:2] == b"\r\n":
                del buffer[:2]
                blank += 1
                if blank > _BLANK_LINES:
                    raise bad("bad_request_line", "The request line cannot be read.")
                continue
            end = buffer.find(b"\r\n\r\n", max(0, seen - 3))
            if end >= 0:
                return parse(self.peer.take(end + 4)[:-4])
            check_unfinished(buffer, seen)
            seen = len(buffer)
            if not self.peer.fill(deadline - time.monotonic()):
                return None

    def _body(self, head: RequestHead) -> bodies.FixedBody | bodies.ChunkedBody:
        pace = Pace(self.peer, self.server.limits)
        return bodies.ChunkedBody(pace) if head.chunked else bodies.FixedBody(pace, head.length)

    def _ask(self, exchange: Exchange, head: RequestHead, body: Any) -> environ.Answered:
        """A sink's body is left; a large one is read only if the application wants it: who is refused by the head is
        refused before."""
        server = self.server
        if not head.has_body:
            return self._call(exchange, head, b"")
        if server.paths.is_sink(head.method, head.path, None if head.chunked else head.length):
            return self._call(exchange, head, environ.UnreadBody())
        cap = server.paths.body_limit(head.method, head.path, server.limits.max_body)
        if head.length > cap:
            raise Refusal(413, "too_large", f"The body is larger than {cap} bytes.")
        judged_from = server.limits.judged_from
        with server.share_of(head.method, head.path).uploads.taking(body.pace, exchange.remote) as upload:
            collected = bodies.Collected(body, cap, upload)
            if head.chunked:
                self._read(head, collected, judged_from)
            if not body.done and (head.chunked or head.length > judged_from):
                answered = self._ask_first(exchange, head)
                if answered is not None:
                    return answered
            self._read(head, collected, cap + 1)
            return self._call(exchange, head, collected.whole())

    def _read(self, head: RequestHead, collected: bodies.Collected, enough: int) -> None:
        self.proceed(head)
        try:
            collected.read(enough)
        except TooLarge as problem:
            raise Refusal(413, problem.code, problem.message) from problem
        except Malformed as problem:
            raise bad(problem.code, problem.message) from problem

    def _call(self, exchange: Exchange, head: RequestHead, body: environ.Body) -> environ.Answered:
        answered = self._run(environ.call, exchange, head, body)
        exchange.know(answered)
        return answered

    def _ask_first(self, exchange: Exchange, head: RequestHead) -> environ.Answered | None:
        """None: the application wants the body, for which we wait again."""
        answered = self._run(environ.ask_first, exchange, head, environ.LaterBody())
        if answered is None:
            self.server.waiting[self] = None
        else:
            exchange.know(answered)
        return answered

    def _run(self, call: Any, exchange: Exchange, head: RequestHead, body: environ.Body) -> Any:
        server = self.server
        server.waiting.pop(self, None)
        whole = isinstance(body, bytes)
        share = server.share_of(head.method, head.path)
        with share.waiting(keep=whole):
            asked = environ.make(server, self.remote, self.local, exchange.request_id, head, body)
            whose, task = server.known.whose(head, exchange.remote), environ.Task(call, server.app, asked)
            try:
                answered = share.lane.run_for(whose, environ.unless_left, self.peer, server.limits.missed_after, task)
            except (Interrupted, gevent.GreenletExit):
                raise
            except BaseException as problem:
                log.error("application failed request_id=%s", exchange.request_id, exc_info=problem)
                raise Refusal(500, "internal", "The server failed to answer.", keep=whole) from None
        if answered is environ.LEFT:
            raise PeerLost
        if answered is not None and answered.username is not None:
            server.known.learn(head)
        return answered
