"""What we use of libraries although they do not promise it: all of it is in this file.

tests/unit/test_internals.py tries each with the library itself, so a version that changes one fails there by its name.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ZODB import DB
from ZODB._compat import PersistentUnpickler

__all__ = [
    "PersistentUnpickler",
    "delivery_tracker",
    "has_changes",
    "limit_waiting",
    "opened_databases",
    "receive_now",
    "record_ids",
    "reserved_ids",
    "save_index",
    "take_order_of",
]


def record_ids(storage: Any) -> Collection[bytes]:
    """ZODB: the id of every object in a FileStorage."""
    return storage._index


def save_index(storage: Any) -> None:
    """ZODB: write the index of a FileStorage now. A commit waits for it: a millisecond for 100,000 objects."""
    with storage._lock:
        storage._save_index()


def reserved_ids(storage: Any) -> list[bytes] | None:
    """ZEO: the ids for new objects that a client has got from its server and not used yet; None of other storages."""
    return getattr(storage, "_oids", None)


def limit_waiting(storage: Any, seconds: float) -> None:
    """ZEO: from now on a call waits at most so long for a server that is away. Other storages do not wait."""
    server = getattr(storage, "_server", None)
    if server is not None:
        server.timeout = min(server.timeout, seconds)


def has_changes(transaction: Any) -> bool:
    """transaction: whether anything has joined it, so that its commit would write."""
    return bool(transaction._resources)


def opened_databases(registry: Any) -> dict[str, DB]:
    """pyramid_zodbconn: the databases by name."""
    return registry._zodb_databases


def delivery_tracker() -> Any:
    """Apprise: the context variable in which it looks who has a message while it tries again by itself; None in a
    version that has none, which then sends to everybody again."""
    from apprise.plugins import base

    return getattr(base, "_delivery_tracker", None)


def take_order_of(node: Any, other: Any) -> None:
    """colander: let the node stand among the fields of its schema where the other one was declared."""
    node._order = other._order


def receive_now(sock: Any, size: int) -> bytes:
    """gevent: what has arrived at this socket, without a switch to other greenlets; BlockingIOError if nothing has."""
    return sock._sock.recv(size)
