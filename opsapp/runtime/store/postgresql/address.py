"""postgresql://user@host:port/database?option=value, as libpq reads it, with a few options of ours.

All other options are libpq's: several hosts, a socket's directory as `host`, `passfile`, `sslmode`, the environment and
~/.pgpass. The default port is 5432.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from psycopg2 import ProgrammingError
from psycopg2.extensions import make_dsn, parse_dsn

CONNECT_S = 2  # libpq's least
LOCK_S = 2.0  # what a commit waits for the lock of another one
HELD_S = 5.0  # then the server ends a commit whose node does not go on with it, and its locks are free
START_S = 10.0  # what a start waits for a database that is not there yet
KEPT = {
    "connect_timeout": str(CONNECT_S),
    "tcp_user_timeout": "3000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
}


def _whether(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def _seconds(text: str) -> float:
    seconds = float(text)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"{text!r} is no number of seconds")
    return seconds


class Waits(NamedTuple):
    """How long is waited for what, in seconds."""

    start: float = START_S
    lock: float = LOCK_S
    held: float = HELD_S


class DatabaseAddress(NamedTuple):
    dsn: str
    name: str  # the database, without a credential
    storage: dict[str, bool | int]  # RelStorage's options
    database: dict[str, str]  # zodburi's
    waits: Waits


STORAGE: dict[str, Callable[[str], bool | int]] = {"keep_history": _whether, "cache_local_mb": int, "pack_gc": _whether}
WAITS = {"wait_timeout": "start", "lock_timeout": "lock", "held_timeout": "held"}


def read_address(uri: str) -> DatabaseAddress:
    """ValueError, without the URI in it, for what cannot be read."""
    where, _, query = uri.partition("?")
    storage: dict[str, bool | int] = {}
    database: dict[str, str] = {}
    waits: dict[str, float] = {}
    rest: list[tuple[str, str]] = []
    for key, value in parse_qsl(query.replace("+", "%2B"), keep_blank_values=True):
        try:
            if key in STORAGE:
                storage[key] = STORAGE[key](value)
            elif key in WAITS:
                waits[WAITS[key]] = _seconds(value)
            elif key == "database_name" or key.startswith("connection_"):
                database[key] = value
            else:
                rest.append((key, value))
        except ValueError as problem:
            raise ValueError(f"the store's option {key} is wrong: {problem}") from None
    dsn = _dsn(f"{where}?{urlencode(rest, quote_via=quote)}")
    return DatabaseAddress(dsn, _name(where), storage, database, Waits(**waits))


def _dsn(uri: str) -> str:
    try:
        given = parse_dsn(uri)
    except ProgrammingError as problem:
        raise ValueError(f"the store's address is wrong: {_first_line(problem)}") from None
    return str(make_dsn(**(KEPT | given)))


def _name(where: str) -> str:
    parts = urlsplit(where)
    return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _first_line(problem: BaseException) -> str:
    """libpq quotes what it could not read only where it is the name of an option."""
    return str(problem).strip().splitlines()[0]
