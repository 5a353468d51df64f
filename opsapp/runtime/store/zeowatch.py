"""Whether a ZEO server answers: asked four times a second, and cut where it does not.

A suspended server keeps its connections, and whoever asks it waits for good. Once cut, ZEO's client says that it is
away, and connects again. A connection on which the server never says its first word is cut too: it was made as the
server died. Must not: know what is stored.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

from ZEO.Exceptions import ClientDisconnected

from opsapp.runtime.internals import break_client, is_zeo, ungreeted
from opsapp.runtime.threads.silence import Silence

log = logging.getLogger(__name__)

# Their sum is how long a server may stand still before it is away; two seconds are promised.
EVERY_S = 0.25
SILENT_S = 1.4
GRACE_S = 0.1  # for an answer that is there, and a process that had no time to read it
GREETING_S = 5.0  # for the first word of a server that is connected again


class ServerWatch:
    """One thread asks and waits, another one looks at how long that takes."""

    def __init__(self, storage: Any):
        self._storage = storage
        self._ended = threading.Event()
        self._asks = threading.Event()
        self._answered = threading.Event()
        for work in (self._ask, self._look):
            threading.Thread(target=work, name="zeo-watch", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def _ask(self) -> None:
        while not self._ended.wait(EVERY_S):
            if not self._storage.is_connected():
                self._wait_for_greeting()
                continue
            self._answered.clear()
            self._asks.set()
            try:
                self._storage.ping()
            except ClientDisconnected:
                log.debug("the store's server is away", exc_info=True)
            finally:
                self._answered.set()

    def _wait_for_greeting(self) -> None:
        connection, silence = ungreeted(self._storage), Silence(GREETING_S)
        while connection is not None and ungreeted(self._storage) is connection:
            if silence.is_certain:
                log.warning("the store's server does not greet: its connection is cut")
                break_client(self._storage, connection)
                return
            if silence.wait(self._ended.wait):
                return

    def _look(self) -> None:
        while not self._ended.is_set():
            if not self._asks.wait(EVERY_S):
                continue
            self._asks.clear()
            if self._is_silent() and not self._ended.is_set():
                log.warning("the store's server does not answer: its connection is cut")
                break_client(self._storage)

    def _is_silent(self) -> bool:
        silence = Silence(SILENT_S)
        while not silence.is_certain:
            if silence.wait(self._answered.wait):
                return False
        return not self._answered.wait(GRACE_S)


def watches(storages: list[Any]) -> list[ServerWatch]:
    return [ServerWatch(storage) for storage in storages if is_zeo(storage)]
