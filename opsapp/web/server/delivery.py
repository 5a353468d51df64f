"""Carrying out streams, deferred answers, upgrades and sinks. Hub only: no transaction is open, nothing persistent in
reach."""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from typing import Any

from pyramid.response import Response

from opsapp.lib.problems import Forbidden
from opsapp.web import answers
from opsapp.web.address import canonical, same_origin
from opsapp.web.websocket import GOING_AWAY, Closed, WebSocket

from .body import LimitedBody
from .connection import Connection
from .environ import Answered
from .exchange import Exchange
from .head import RequestHead
from .peer import Interrupted

log = logging.getLogger(__name__)

_WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def deliver(connection: Connection, exchange: Exchange, head: RequestHead, body: Any, answered: Answered) -> None:
    answer: Response | None = answered.answer
    if answer is None:
        exchange.respond(answered.status, answered.headers, answered.body)
        return
    while isinstance(answer, answers.Answer):
        if isinstance(answer, answers.Stream):
            with connection.server.lasting.holding(connection, answer.caller):
                answer = _stream(connection, exchange, answer)
        elif isinstance(answer, answers.Sink):
            with connection.server.lasting.holding(connection, answer.caller):
                answer = _sink(connection, exchange, head, body, answer)
        elif isinstance(answer, answers.Upgrade):
            with connection.server.lasting.holding(connection, answer.caller):
                answer = _upgrade(connection, exchange, head, answer)
        elif isinstance(answer, answers.Deferred):
            answer.has_left = connection.peer.has_left
            answer = answer.outcome()
        else:
            raise TypeError(f"nobody here can carry out {answer!r}")
    if answer is not None:
        exchange.respond(answer.status, answer.headerlist, answer.body)


def _stream(connection: Connection, exchange: Exchange, answer: answers.Stream) -> Response | None:
    """None when it was sent; a response when the source refused."""
    refusal = answer.opened()
    if refusal is not None:
        return refusal
    pieces: Any = None
    try:
        exchange.begin(answer.status, answer.headerlist)
        if exchange.method == "HEAD":
            return None
        connection.peer.watch(connection.interrupt)
        with answer.watched(_ending(connection, answer.source)):
            pieces = iter(answer.source)
            for piece in pieces:
                exchange.piece(piece)
        exchange.end()
    except Interrupted:
        connection.interrupted()
        exchange.cut()
        raise
    except answers.PeerLost:
        raise
    except Exception:
        log.exception("stream broke off request_id=%s", exchange.request_id)
        exchange.keep = False
    finally:
        connection.peer.unwatch()
        connection.settle()
        _close(pieces, answer.source)
    return None


def _ending(connection: Connection, source: answers.Source) -> Any:
    """The stream ends by its own last word, or is cut."""
    return getattr(source, "end", None) or (lambda _reason: connection.interrupt())


def _close(pieces: Any, source: answers.Source) -> None:
    """End a generator where it stands, then the source; neither may take the other's turn."""
    try:
        close = getattr(pieces, "close", None)
        if close is not None and pieces is not source:
            close()
    finally:
        source.close()


def _sink(
    connection: Connection, exchange: Exchange, head: RequestHead, body: Any, answer: answers.Sink
) -> Response | None:
    limited = LimitedBody(body, head, answer.limit, lambda: connection.proceed(head))
    try:
        with answer.watched(lambda _reason: connection.interrupt()):
            response = answer.outcome(limited)
    except Interrupted:
        connection.interrupted()
        raise
    finally:
        connection.settle()
    exchange.keep = head.keep_alive and body.done
    return response


def _upgrade(connection: Connection, exchange: Exchange, head: RequestHead, answer: answers.Upgrade) -> Response | None:
    """None when the session was held; a response when the handshake cannot succeed."""
    problem = _handshake_problem(connection, head, answer)
    if problem is not None:
        return answer.finished(problem)
    exchange.keep = False
    exchange.begins(101)
    connection.peer.send(_switching(head, exchange, answer), exchange.timeout)
    socket = WebSocket(
        connection.peer,
        max_message=answer.max_message,
        ping_every=answer.ping_every,
        idle_after=answer.idle_after,
        send_timeout=exchange.timeout,
    )
    connection.end_politely = lambda: socket.close(GOING_AWAY, "the server stops")
    try:
        with answer.watched(lambda _reason: connection.stop()):
            answer.handler(socket)
    except Interrupted:
        connection.interrupted()
        raise
    except Closed:
        pass  # the peer left while something was said to it: that ends a session like any other
    except Exception:
        log.exception("session broke off request_id=%s", exchange.request_id)
        socket.fail()
    finally:
        connection.end_politely = None
        connection.settle()
        socket.finish(0.0 if connection.ending else 2.0)
    return None


def _handshake_problem(connection: Connection, head: RequestHead, answer: answers.Upgrade) -> Any:
    if not head.wants_websocket or head.minor == 0 or head.method != "GET":
        value = {"error": "This is a WebSocket: ask for an upgrade.", "code": "upgrade_required"}
        return 426, {"Upgrade": "websocket", "Connection": "Upgrade"}, value
    if head.headers.get("sec-websocket-version") != "13":
        value = {"error": "Only version 13 of the WebSocket protocol is supported.", "code": "upgrade_required"}
        return 426, {"Sec-WebSocket-Version": "13", "Upgrade": "websocket"}, value
    if not _is_key(head.headers.get("sec-websocket-key", "")):
        return 400, {}, {"error": "The Sec-WebSocket-Key cannot be read.", "code": "bad_websocket_key"}
    origin = head.headers.get("origin")
    if origin is not None and origin not in answer.origins:
        ours = canonical(head.host, connection.server.base_url(), connection.local)
        if not same_origin(origin, *ours):
            return Forbidden("A page of another site may not connect.", code="foreign_origin")
    return None


def _is_key(key: str) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except (binascii.Error, ValueError):
        return False


def _switching(head: RequestHead, exchange: Exchange, answer: answers.Upgrade) -> bytes:
    key = head.headers["sec-websocket-key"].encode("latin-1")
    accept = base64.b64encode(hashlib.sha1(key + _WEBSOCKET_GUID, usedforsecurity=False).digest()).decode()
    lines = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept}",
        f"X-Request-Id: {exchange.request_id}",
    ]
    offered = [token.strip() for token in head.headers.get("sec-websocket-protocol", "").split(",")]
    chosen = next((known for known in answer.subprotocols if known in offered), None)
    if chosen is not None:
        lines.append(f"Sec-WebSocket-Protocol: {chosen}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
