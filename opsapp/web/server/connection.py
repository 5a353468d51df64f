"""One connection: its peer, and how it is ended from outside. `requestloop` serves it."""

from __future__ import annotations

from typing import Any

import gevent

from .head import RequestHead
from .peer import Interrupted, Peer
from .shared import Shared

_FAREWELL_S = 1.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection:
    """Lives in one greenlet. `interrupt` may be called from any other one, or from the loop."""

    __slots__ = ("_delivered", "end_politely", "ending", "greenlet", "local", "peer", "remote", "server")

    def __init__(self, server: Shared, sock: Any, address: tuple):
        self.server = server
        self.peer = Peer(sock)
        self.remote = plain_address(address)
        self.local = plain_address(sock.getsockname())
        self.greenlet = gevent.getcurrent()
        self.end_politely: Any = None  # set while an upgrade runs: ends it in its own words
        self.ending = self._delivered = False

    def interrupt(self) -> None:
        """End this connection now."""
        if not self.ending:
            self.ending = True
            gevent.kill(self.greenlet, Interrupted)

    def stop(self) -> None:
        """The server ends: a session is told so and gets a moment, anything else just ends."""
        if self.end_politely is not None:
            gevent.spawn(self.end_politely)
            gevent.spawn_later(_FAREWELL_S, self.interrupt)
        else:
            self.interrupt()

    def settle(self) -> None:
        """Let an interruption that is under way arrive here, where it does no harm."""
        if self.ending and not self._delivered:
            self._delivered = True
            try:
                gevent.sleep(0)
            except Interrupted:
                return

    def interrupted(self) -> None:
        self._delivered = True

    def proceed(self, head: RequestHead) -> None:
        """The body is wanted: say so once to a client that waits for it."""
        if head.expects_continue:
            head.expects_continue = False
            if not self.peer.buffer:
                self.peer.send(_CONTINUE, self.server.limits.send_timeout)


def plain_address(address: tuple) -> tuple[str, int]:
    """(host, port); IPv4 on an IPv6 socket is written as IPv4."""
    host = address[0].removeprefix("::ffff:") if "." in address[0] else address[0]
    return host, address[1]
