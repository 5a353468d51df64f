"""Whether the database answers, and what was committed last: one connection, one question twenty times a second.

RelStorage learns of commits only when a transaction begins, and of a server that hangs never. A thread asks; what it
heard last is read from memory.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Any

import psycopg2
from psycopg2 import extensions

from opsapp.runtime.threads.silence import Silence
from opsapp.wire.handles import ready

from .connections import DatabaseAway, Driver

log = logging.getLogger(__name__)

EVERY_S = 0.05
SILENT_S = 1.2  # then it is away
AGAIN_S = 0.25
NEWEST = {
    True: "SELECT pg_is_in_recovery(), (SELECT tid FROM transaction ORDER BY tid DESC LIMIT 1)",
    False: "SELECT pg_is_in_recovery(), (SELECT tid FROM object_state ORDER BY tid DESC LIMIT 1)",
}


class DatabasePulse:
    """The driver is told of silence: whoever waits for the server in another thread hears it."""

    def __init__(self, dsn: str, name: str, driver: Driver, *, keep_history: bool):
        self.newest = 0  # transaction id
        self.beats = False
        self.returns = 0  # how often it came back
        self._dsn, self._name, self._question, self._driver = dsn, name, NEWEST[keep_history], driver
        self._ended = threading.Event()
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        """Returns when the first answer is there, or was not in time."""
        self._thread.start()
        self._first.wait(2 * SILENT_S)

    def saw(self, tid: int) -> None:
        """A commit of this process: nobody has to wait for the next answer."""
        self.newest = max(self.newest, tid)

    def end(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.is_set():
            connection = None
            try:
                connection = self._connect()
                self._listen(connection)
            except psycopg2.Error as problem:
                if not self._ended.is_set():
                    self._missed(problem)
            finally:
                self._first.set()
                if connection is not None:
                    connection.close()
            self._ended.wait(AGAIN_S)

    def _connect(self) -> Any:
        connection = psycopg2.connect(self._dsn, async_=1)
        _wait(connection, SILENT_S)
        return connection

    def _listen(self, connection: Any) -> None:
        cursor = connection.cursor()
        while not self._ended.is_set():
            cursor.execute(self._question)
            _wait(connection, SILENT_S)
            recovers, newest = cursor.fetchone()
            if recovers:
                raise DatabaseAway("it is a replica, and takes no writes")
            self._heard(newest or 0)
            self._first.set()
            self._ended.wait(EVERY_S)

    def _heard(self, newest: int) -> None:
        self.saw(newest)
        if not self.beats:
            self.beats = True
            self._driver.answers()
            self.returns += 1
            if self.returns > 1:
                log.warning("the database answers again: %s", self._name)

    def _missed(self, problem: psycopg2.Error) -> None:
        if self.beats:
            self.beats = False
            log.warning("the database does not answer: %s: %s", self._name, str(problem).strip())
            self._driver.fell_silent()


def _wait(connection: Any, seconds: float) -> None:
    """Wait for the server's answer; at the end it looks once more: a thread that was held up itself must not say that
    the database was."""
    silence = Silence(seconds)
    while (state := connection.poll()) != extensions.POLL_OK:
        if silence.is_certain:
            raise DatabaseAway(f"no answer for {seconds} s")
        handles = [connection.fileno()]
        reads, writes = (handles, []) if state == extensions.POLL_READ else ([], handles)
        silence.wait(partial(ready, reads, writes))
