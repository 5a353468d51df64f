"""What we use of libraries although they do not promise it: all of it is in this file.

tests/unit/test_internals.py tries each, so a version that changes one fails there by its name.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Collection
from functools import partial
from threading import Thread
from typing import Any

from ZODB import DB, _compat
from ZODB.FileStorage.FileStorage import FileStorage
from zodburi import resolve_uri

PersistentUnpickler = _compat.PersistentUnpickler
UNSAID = 10_000  # zodburi: objects in a connection's cache, where the address does not say
FILE = "file://"


def resolved(uri: str) -> Any:
    """zodburi: it loads ZEO's client and asyncio for any address. An embedded store without options does without."""
    if uri.startswith(FILE) and "?" not in uri:
        return partial(FileStorage, uri.removeprefix(FILE)), {"cache_size": UNSAID}
    return resolve_uri(uri)


def record_ids(storage: Any) -> Collection[bytes]:
    return storage._index


def read_only_file(path: Any) -> FileStorage:
    """ZODB: a FileStorage that cannot be opened leaves its own files open."""
    storage = FileStorage.__new__(FileStorage)
    try:
        FileStorage.__init__(storage, str(path), read_only=True)
    except BaseException:
        for name in ("_file", "_files"):
            if name in vars(storage):
                vars(storage)[name].close()
        raise
    return storage


def save_index(storage: Any) -> None:
    """ZODB. A commit waits for it: a millisecond for 100,000 objects."""
    with storage._lock:
        storage._save_index()


def reserved_ids(storage: Any) -> list[bytes] | None:
    """ZEO: a client's ids for new objects that are not used yet; None of other storages."""
    return storage._oids if is_zeo(storage) else None


def load_classes_by(db: DB, factory: Callable[[Any, str, str], Any]) -> None:
    """ZODB: a database opens a connection while it is made, which keeps the factory that there was."""
    db.classFactory = factory
    db._connectionMap(lambda connection: setattr(connection._reader, "_factory", factory))


def limit_waiting(storage: Any, seconds: float) -> None:
    """ZEO: how long a call waits for a server that is away. Other storages do not wait."""
    if is_zeo(storage):
        storage._server.timeout = min(storage._server.timeout, seconds)


def commits_at_once(storage: Any) -> int:
    """ZEO: a client lets one thread commit at a time; the others wait without an end. Other storages say their number,
    or 0 for no bound."""
    return 1 if is_zeo(storage) else getattr(storage, "commits_at_once", 0)


def lock_watches(server: Any, watch: Callable[[], Thread]) -> None:
    """ZEO's server: who is told of each commit's lock, for each storage one."""
    for manager in server.lock_managers.values():
        manager.timeout = watch()
        manager.timeout.start()


def break_connection(protocol: Any) -> None:
    """ZEO's server: end a connection as if it had broken, on its loop's thread. `close` would leave its lock."""
    protocol.sm_protocol.transport.abort()


def is_zeo(storage: Any) -> bool:
    client = sys.modules.get("ZEO.ClientStorage")  # where nobody loaded it there is no client
    return client is not None and isinstance(storage, client.ClientStorage)


def ungreeted(storage: Any) -> Any:
    """ZEO: a client's connection on which the server has not said a word yet. ZEO waits for it without an end."""
    connections = tuple(storage._server.client.protocols)
    return next((made for made in connections if made.sm_protocol is not None and not hasattr(made, "encode")), None)


def break_client(storage: Any, connection: Any = None) -> None:
    """ZEO: from any thread, end this connection of a client, or the one it uses, as if it had broken. Who waits hears
    of it, and the client connects again."""
    client = storage._server.client

    def abort() -> None:
        protocol = connection or client.protocol
        if protocol is not None and protocol.sm_protocol is not None:
            protocol.sm_protocol.transport.abort()

    storage._server.loop.call_soon_threadsafe(abort)


def has_changes(transaction: Any) -> bool:
    return bool(transaction._resources)


def opened_databases(registry: Any) -> dict[str, DB]:
    return registry._zodb_databases


def delivery_tracker() -> Any:
    """Apprise: where it looks who has a message while it tries again; None in a version without, which sends to
    everybody again."""
    from apprise.plugins import base

    return getattr(base, "_delivery_tracker", None)


def take_order_of(node: Any, other: Any) -> None:
    """colander: the node takes the other's place among the fields of its schema."""
    node._order = other._order


def peek_now(sock: Any) -> bytes:
    """gevent: a byte that has arrived and stays there; from any thread. BlockingIOError if nothing has."""
    return sock._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)


def receive_now(sock: Any, size: int) -> bytes:
    """gevent: what has arrived, without a switch to other greenlets; BlockingIOError if nothing has."""
    return sock._sock.recv(size)
