"""The listener: who may connect, and how everything ends."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent.server import StreamServer

from opsapp.lib.problems import Problem
from opsapp.runtime.memory import trim
from opsapp.web.address import netloc
from opsapp.web.config import WebSettings
from opsapp.web.paths import Paths
from opsapp.web.requestcounts import RequestCounts

from .connection import plain_address
from .environ import base_environ
from .exchange import Exchange
from .limits import Limits
from .memory import HighWater
from .peer import Peer
from .refusal import Refusal
from .requestloop import RequestLoop
from .shared import Shared

BACKLOG = 1024


class Server(Shared, StreamServer):
    max_accept = 64

    def __init__(
        self,
        listener: socket.socket,
        app: Callable[..., Any],
        lane: Any,
        *,
        limits: Limits | None = None,
        paths: Paths | None = None,
        web: Callable[[], WebSettings] = WebSettings,
        drains: bool = False,
        own_lane: Callable[[str], Any] | None = None,
        requests: RequestCounts | None = None,
    ):
        StreamServer.__init__(self, listener, self.serve_connection)
        base = base_environ(plain_address(listener.getsockname()))
        Shared.__init__(self, app, lane, base, limits, paths, web, own_lane, requests)
        self.drains = drains  # there are other nodes, which a proxy can ask instead
        self.connections: set[RequestLoop] = set()
        self._water = HighWater(self._give_memory_back)

    def serve_connection(self, sock: Any, address: tuple) -> None:
        """Each connection has a greenlet of its own."""
        if len(self.connections) >= self.limits.max_connections and not self._make_room():
            self._turn_away(sock)
            return
        try:
            connection = RequestLoop(self, sock, address)
        except OSError:
            return  # it left before we looked
        self.connections.add(connection)
        self._water.rose(len(self.connections))
        try:
            connection.run()
        finally:
            self.connections.discard(connection)
            self._water.fell(len(self.connections))

    def _give_memory_back(self) -> None:
        if not self.stopping:
            gevent.spawn(self.lane.run, trim)

    def _make_room(self) -> bool:
        """End the connection that has let us wait longest: half-open ones must not lock others out."""
        for connection in self.waiting:
            connection.interrupt()
            del self.waiting[connection]
            return True
        return False

    def _turn_away(self, sock: Any) -> None:
        refusal = Refusal(503, "overloaded", "Too many connections.", headers={"Retry-After": "5"})
        Exchange(Peer(sock), "-", self).refuse(refusal)

    def finish(self) -> None:
        deadline = time.monotonic() + self.limits.stop_after
        if self.drains:
            self._drain()
        self.stopping = True
        self.close()
        for connection in list(self.connections):
            if connection in self.waiting or connection in self.lasting:
                connection.stop()
        while self.connections and time.monotonic() < deadline:
            gevent.sleep(0.02)
        for connection in list(self.connections):
            connection.interrupt()
        while self.connections and time.monotonic() < deadline + 1.0:
            gevent.sleep(0.02)
        self.access.write()

    def _drain(self) -> None:
        """A proxy may send on an idle connection as it is closed, and cannot know whether that was carried out. So idle
        ones stay open for a while and are closed by their next answer. Who comes now is refused, and the proxy asks
        another node."""
        self.draining = True
        self.stop_accepting()
        while (connected := self.do_read()) is not None:
            self.do_handle(*connected)
        self.close()
        for connection in list(self.connections):
            if connection in self.lasting:
                connection.stop()
        until = time.monotonic() + self.limits.drain
        while self.connections and time.monotonic() < until:
            gevent.sleep(0.02)


class CannotListen(Problem):
    """The address is taken, is none of this machine, or may not be used."""

    code = "cannot_listen"


def listen(host: str, port: int, *, reuse_port: bool = False) -> socket.socket:
    """A listening socket; connections inherit TCP_NODELAY from it."""
    try:
        return _bound(host, port, reuse_port)
    except OSError as problem:
        raise CannotListen(f"cannot listen at {netloc(host, port)}: {problem.strerror}") from problem


def require_free(host: str, port: int, *, reuse_port: bool = False) -> None:
    """CannotListen, before a store is made or upgraded. The socket is not kept: who connects during a long start is
    refused, and a proxy asks another node."""
    listen(host, port, reuse_port=reuse_port).close()


def _bound(host: str, port: int, reuse_port: bool) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
