"""Requests that another node has to answer: handed on as they are, once, with who asks. The other node decides anew.

A header that names a caller is accepted only for paths that nodes hand on (`config.add_forwardable`), and its session,
key or ticket is looked up here again. Must not: know what a request is about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.runtime.cluster import peers
from opsapp.runtime.node import Node

from .answers import Answer, Deferred, Sink, Stream
from .asked import request_id
from .identity import Identity
from .paths import REGISTRY_KEY as PATHS

HEADER = "HTTP_" + peers.HEADER.upper().replace("-", "_")
FORWARDED = "opsapp.forwarded"  # in the environ of a request that another node handed on
TAKEN_ALONG = ("Range", "If-Range", "Last-Event-ID", "Accept", "Content-Type")
GIVEN_BACK = (
    "content-length", "content-range", "content-disposition", "accept-ranges", "etag", "retry-after",
    "x-accel-buffering", "cache-control", "x-content-sha256", "repr-digest",
)  # fmt: skip


def read_node(request: Request, root: Any) -> Identity | None:
    value = request.environ.get(HEADER)
    if not value or not request.registry[PATHS].is_forwardable(request.method, request.path_info):
        return None
    vouched = peers.vouched(request.node, request.method, _target(request), value, request_id(request.environ))
    if vouched is None or vouched.digest != _digest(request):
        return None
    identity = _looked_up(request, root, Identity(*vouched.caller))
    if identity is not None:
        request.environ[FORWARDED] = True
    return identity


def _looked_up(request: Request, root: Any, caller: Identity) -> Identity | None:
    """A node that asks for itself is nobody's session, and may do what nodes may."""
    if caller.kind == peers.CLUSTER.kind:
        return Identity(*peers.CLUSTER)
    return request.registry.opsapp_caller_lookup(root, caller, request.now)


def _digest(request: Request) -> str:
    if request.registry[PATHS].is_sink(request.method, request.path_info, request.content_length):
        return peers.STREAMED
    return hashlib.sha256(request.body).hexdigest()


def _target(request: Request) -> str:
    """Path and query as they came; of the query without what is a credential."""
    query = request.query_string
    return request.path + (f"?{query}" if query else "")


def is_forwarded(request: Request) -> bool:
    return FORWARDED in request.environ


class _Relayed:
    def __init__(self, exchange: peers.PeerExchange):
        self._exchange = exchange
        self.close = exchange.close

    def open(self) -> None:
        """It is open."""

    def __iter__(self) -> Iterator[bytes]:
        return self._exchange.pieces()


def forward(request: Request, name: str) -> Answer:
    node, method, caller = request.node, request.method, request.caller
    query = [pair for pair in request.query_string.split("&") if pair and pair.partition("=")[0] != "token"]
    target = request.path + ("?" + "&".join(query) if query else "")
    headers = [(known, request.headers[known]) for known in TAKEN_ALONG if request.headers.get(known)]
    return Deferred(lambda: _answer(_begun(node, name, method, target, caller, headers)))


def forward_body(request: Request, name: str, limit: int) -> Answer:
    node, method, caller, target = request.node, request.method, request.caller, request.path
    headers = [(known, request.headers[known]) for known in TAKEN_ALONG if request.headers.get(known)]

    def receive(body: Any) -> Response:
        framing = ("Transfer-Encoding", "chunked")
        if body.content_length is not None:
            framing = ("Content-Length", str(body.content_length))
        exchange = peers.PeerExchange(node, name, method, target, caller, [*headers, framing], peers.STREAMED)
        try:
            exchange.give(iter(lambda: body.read(peers.PIECE), b""))
            exchange.answered()
        except BaseException:
            exchange.close()
            raise
        return _answer(exchange)

    return Sink(receive, limit=limit)


def _begun(node: Node, name: str, method: str, target: str, caller: peers.Caller, headers: Any) -> peers.PeerExchange:
    exchange = peers.PeerExchange(node, name, method, target, caller, headers)
    try:
        exchange.give(())
        exchange.answered()
    except BaseException:
        exchange.close()
        raise
    return exchange


def _answer(exchange: peers.PeerExchange) -> Response:
    kind = exchange.headers.get("content-type", "application/octet-stream")
    given = {known: exchange.headers[known] for known in GIVEN_BACK if known in exchange.headers}
    if exchange.status < 300:
        answer = Stream(_Relayed(exchange), content_type=kind.partition(";")[0], headers=given)
        answer.status_int = exchange.status
        return answer
    try:
        body = b"".join(exchange.pieces())
    finally:
        exchange.close()
    given.pop("content-length", None)
    response = Response(body, status=exchange.status, headerlist=[("Content-Type", kind)])
    response.headers.update(given)
    return response


def _nobody(_root: Any, _caller: Identity, _now: float) -> None:
    """Stands here until a room that knows sessions says who is behind one."""


def add_caller_lookup(config: Any, look_up: Any) -> None:
    """Directive: `look_up(root, identity, now)` is the Identity as it is now, or None when it has ended."""
    config.registry.opsapp_caller_lookup = look_up


def includeme(config: Any) -> None:
    config.registry.opsapp_credential_readers.append(read_node)
    config.registry.opsapp_caller_lookup = _nobody
    config.add_directive("add_caller_lookup", add_caller_lookup)
