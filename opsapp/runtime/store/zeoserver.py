"""The ZEO server program, with a bound on how long a node may hold the lock of a commit.

A node that is suspended between the vote and the end of a commit keeps everybody else from committing. ZEO's own
`transaction-timeout` closes its connection and forgets the lock; this ends the connection as a broken one. Must not:
know what is stored.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from ZEO.runzeo import ZEOOptions, ZEOServer

from opsapp.runtime.internals import break_connection, lock_watches

log = logging.getLogger(__name__)

HELD_S = 5.0


class LockWatch(threading.Thread):
    """Watches who has the lock of one storage, and since when. ZEO calls `begin` and `end`."""

    def __init__(self, held: float):
        super().__init__(name="lock-watch", daemon=True)
        self._held = held
        self._holder: Any = None
        self._deadline = 0.0
        self._changed = threading.Condition()

    def begin(self, client: Any) -> None:
        with self._changed:
            self._holder, self._deadline = client, time.monotonic() + self._held
            self._changed.notify()

    def end(self, client: Any) -> None:
        with self._changed:
            self._holder = None

    def run(self) -> None:
        while True:
            holder = self._late()
            log.critical("a node holds the lock for %s s and is cut off: %s", self._held, holder.log_label)
            holder.call_soon_threadsafe(break_connection, holder.connection)

    def _late(self) -> Any:
        """The next holder that is late, once."""
        with self._changed:
            while True:
                left = self._deadline - time.monotonic()
                if self._holder is not None and left <= 0:
                    holder, self._holder = self._holder, None
                    return holder
                self._changed.wait(None if self._holder is None else left)


class StoreServer(ZEOServer):
    """runzeo's, with the watch."""

    held = HELD_S

    def create_server(self) -> None:
        super().create_server()
        lock_watches(self.server, lambda: LockWatch(self.held))


def serve(conf: str, held: float = HELD_S) -> None:
    """Runs until it is told to stop. `conf` is a zeo.conf as runzeo reads it."""
    options = ZEOOptions()
    options.realize(["-C", conf])
    server = StoreServer(options)
    server.held = held
    server.main()
