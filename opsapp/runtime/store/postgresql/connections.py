"""Connections to PostgreSQL whose end is told as a store that is away, and that hold locks for a bounded time.

psycopg2 blocks: only native threads have them. Must not: know of a store or its objects.
"""

from __future__ import annotations

import os
import socket
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg2
from psycopg2 import extensions
from relstorage.adapters.postgresql.connmanager import Psycopg2ConnectionManager
from relstorage.adapters.postgresql.drivers.psycopg2 import Psycopg2Driver
from ZEO.Exceptions import ClientDisconnected

from opsapp.lib.problems import StoreFull

Answer = TypeVar("Answer")

# The server ends, starts or recovers (57P..), the connection broke (08...), it takes no more connections, or it has
# become a replica, which takes no writes.
FULL_CODE = "53100"
AWAY_CODES = ("57P01", "57P02", "57P03", "57P05", "53300", "25006", "25P03")


class DatabaseAway(ClientDisconnected, psycopg2.OperationalError):
    """Everybody here knows what ZEO raises when its server is away; RelStorage knows psycopg2's error."""


class PgCursor(extensions.cursor):
    """Its statements end with DatabaseAway where the connection does, with StoreFull where the disk has no room."""

    def execute(self, query: Any, vars: Any = None) -> None:
        _told(self.connection, super().execute, query, vars)

    def copy_expert(self, sql: Any, file: Any, size: int = 8192) -> None:
        _told(self.connection, super().copy_expert, sql, file, size)

    def fetchone(self) -> Any:
        return _told(self.connection, super().fetchone)

    def fetchmany(self, size: int | None = None) -> Any:
        return _told(self.connection, super().fetchmany, self.arraysize if size is None else size)

    def fetchall(self) -> Any:
        return _told(self.connection, super().fetchall)


class PgConnection(extensions.connection):
    replica = None  # RelStorage writes it

    def cursor(self, *values: Any, **named: Any) -> Any:
        return _told(self, super().cursor, *values, **({"cursor_factory": PgCursor} | named))

    def commit(self) -> None:
        _told(self, super().commit)

    def rollback(self) -> None:
        _told(self, super().rollback)

    def cut(self) -> None:
        """Cut the connection, from any thread: whoever waits on it hears at once that there will be no answer."""
        try:
            with socket.socket(fileno=os.dup(self.fileno())) as its_socket:
                its_socket.shutdown(socket.SHUT_RDWR)
        except (OSError, psycopg2.InterfaceError):
            pass  # it has ended


def _told(connection: PgConnection, call: Callable[..., Answer], *values: Any, **named: Any) -> Answer:
    try:
        return call(*values, **named)
    except psycopg2.Error as problem:
        if is_away(problem, connection.closed):
            raise DatabaseAway(str(problem).strip()) from problem
        if problem.pgcode == FULL_CODE:
            raise StoreFull from problem
        raise


def is_away(problem: psycopg2.Error, closed: int) -> bool:
    """An error without a code was not the server's: the connection broke."""
    code = problem.pgcode
    if code is None:
        broke = (psycopg2.DatabaseError, psycopg2.OperationalError, psycopg2.InterfaceError)
        return bool(closed) or type(problem) in broke
    return bool(closed) or code in AWAY_CODES or code.startswith("08")


class Driver(Psycopg2Driver):
    """Makes no new connections while the server does not answer: each would be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.silent = False
        self._open: weakref.WeakSet[PgConnection] = weakref.WeakSet()
        self._opening = threading.Lock()

    def _create_connection(self, mod: Any, *extra_slots: str) -> type[PgConnection]:
        return PgConnection

    def connect_with_isolation(self, dsn: str, *values: Any, **named: Any) -> Any:
        if self.silent:
            raise DatabaseAway("the server does not answer")
        try:
            connection = super().connect_with_isolation(dsn, *values, **named)
        except psycopg2.OperationalError as problem:
            raise DatabaseAway(str(problem).strip()) from problem
        with self._opening:
            self._open.add(connection)
        return connection

    def fell_silent(self) -> None:
        """Nobody waits for the server any longer."""
        self.silent = True
        with self._opening:
            connections = list(self._open)
        for connection in connections:
            if not connection.closed:
                connection.cut()

    def answers(self) -> None:
        self.silent = False


class ConnectionManager(Psycopg2ConnectionManager):
    """A commit has locks from its vote to its end. If its node stops in between, the server ends the session after
    `held` seconds."""

    def __init__(self, driver: Driver, dsn: str, options: Any, held: float):
        super().__init__(driver, dsn, options)
        self._held_ms = int(held * 1000)

    def _do_open_for_store(self, **open_args: Any) -> Any:
        packs = "application_name" in open_args  # it may think longer than a commit between two statements
        connection, cursor = super()._do_open_for_store(**open_args)
        if not packs:
            cursor.execute("SET idle_in_transaction_session_timeout = %s", (self._held_ms,))
            connection.commit()
        return connection, cursor
