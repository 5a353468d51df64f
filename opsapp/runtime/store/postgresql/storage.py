"""RelStorage, with what was committed last known from the pulse, and a way through all records."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

from relstorage.adapters.interfaces import UnableToLockRowsDeadlockError, UnableToLockRowsToModifyError
from relstorage.adapters.postgresql import PostgreSQLAdapter
from relstorage.options import Options
from relstorage.storage import RelStorage
from ZODB.utils import p64, u64

from opsapp.lib.problems import OutcomeUnknown, StoreAway, StoreFull
from opsapp.runtime.store.commits import HELD_UP

from .address import DatabaseAddress, Waits, read_address
from .connections import ConnectionManager, DatabaseAway, Driver
from .deletion import BulkPack
from .pulse import DatabasePulse

# Each connection that breaks is a warning of theirs with a stack; the pulse says in one line what happened.
for chatty in ("connections", "locker", "postgresql.connmanager"):
    logging.getLogger(f"relstorage.adapters.{chatty}").setLevel(logging.CRITICAL)

PAGE = 500
START_AGAIN_S = 0.25
RECORDS = {
    True: "SELECT zoid, tid, state FROM current_object JOIN object_state USING (zoid, tid)"
    " WHERE zoid > %s ORDER BY zoid LIMIT %s",
    False: "SELECT zoid, tid, state FROM object_state WHERE zoid > %s ORDER BY zoid LIMIT %s",
}


class Adapter(PostgreSQLAdapter):
    """The adapter with our driver and connections. Its name is the database's and has no credential in it."""

    connmanager: Any

    def __init__(self, dsn: str = "", options: Any = None, *, waits: Waits | None = None, name: str = "", **parts: Any):
        self.waits = waits or Waits()
        self.said = name
        # Instances of one storage share their connections' manager, and with it the driver.
        self._shared_driver = parts["connmanager"].driver if "connmanager" in parts else Driver()
        super().__init__(dsn=dsn, options=options, **parts)

    def _select_driver(self, options: Any = None) -> Driver:
        return self._shared_driver

    def _create(self) -> None:
        if self.connmanager is None:
            self.connmanager = ConnectionManager(self.driver, self._dsn, self.options, self.waits.held)
        super()._create()
        if self.keep_history:
            self.packundo = BulkPack(
                self.driver, connmanager=self.connmanager, runner=self.runner, locker=self.locker, options=self.options
            )

    def __str__(self) -> str:
        return self.said

    __repr__ = __str__


class PostgresStorage(RelStorage):
    """The first instance is the database's own; each connection has one more, made by `new_instance`."""

    pulse: DatabasePulse | None = None
    leads = False  # it is the first
    commits_at_once = 4

    def new_instance(self, before: bytes | None = None) -> Any:
        instance = super().new_instance(before=before)
        instance.pulse = self.pulse
        return instance

    def is_connected(self) -> bool:
        """The same question as to a ZEO client, answered without asking anything that could block."""
        return self.pulse is None or self.pulse.beats

    def lastTransaction(self) -> bytes:
        if self.leads and self.pulse is not None and self.pulse.newest:
            return bytes(p64(self.pulse.newest))
        return bytes(super().lastTransaction())

    def tpc_vote(self, transaction: Any) -> Any:
        """What waits for a lock as long as a commit may is not tried again: its caller hears of it."""
        began = time.monotonic()
        try:
            return super().tpc_vote(transaction)
        except UnableToLockRowsToModifyError as held:
            if isinstance(held, UnableToLockRowsDeadlockError) or not self.is_connected():
                raise
            if time.monotonic() - began < self._options.commit_lock_timeout * 0.9:
                raise
            raise StoreAway(HELD_UP) from held

    def tpc_finish(self, transaction: Any, f: Any = None) -> bytes:
        try:
            tid = bytes(super().tpc_finish(transaction, f))
        except StoreFull as full:
            raise OutcomeUnknown from full  # the other database may have taken its part already
        if self.pulse is not None:
            self.pulse.saw(u64(tid))
        return tid

    def new_oid(self) -> bytes:
        """A database that came back may be a replica that never heard of the ids that were given."""
        if self.pulse is not None and self.__dict__.get("_returns") != self.pulse.returns:
            self._returns = self.pulse.returns
            self._oids.preallocated_oids = []
        return bytes(super().new_oid())

    def record_iternext(self, next: Any = None) -> tuple[bytes, bytes, bytes, Any]:
        """The current records by their ids, a page at a time, each as it is when its page is read."""
        records: Iterator[tuple[bytes, bytes, bytes]]
        first, records = (None, self._records()) if next is None else next
        record = first or _next(records)
        if record is None:
            raise ValueError("this storage is empty")
        following = _next(records)
        return *record, None if following is None else (following, records)

    def _records(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        oid, page = -1, [()]
        while page:
            with self._load_connection.isolated_connection() as cursor:
                cursor.execute(RECORDS[self.keep_history], (oid, PAGE))
                page = cursor.fetchall()
            for oid, tid, state in page:
                if state is not None:
                    yield p64(oid), p64(tid), bytes(state)

    def close(self) -> None:
        if self.leads and self.pulse is not None:
            self.pulse.end()
        super().close()


def _next(records: Iterator[Any]) -> Any:
    return next(records, None)


def resolve(uri: str) -> tuple[Callable[[], PostgresStorage], dict[str, str]]:
    address = read_address(uri)
    return lambda: _open(address), dict(address.database)


def _open(address: DatabaseAddress) -> PostgresStorage:
    """Waits a while for a database that is not there yet: it may be starting too."""
    deadline = time.monotonic() + address.waits.start
    while True:
        try:
            return _opened(address)
        except DatabaseAway:
            if time.monotonic() >= deadline:
                raise
            time.sleep(START_AGAIN_S)


def _opened(address: DatabaseAddress) -> PostgresStorage:
    options = Options(name=address.name, driver="psycopg2", commit_lock_timeout=address.waits.lock, **address.storage)
    adapter = Adapter(address.dsn, options, waits=address.waits, name=address.name)
    storage = PostgresStorage(adapter, options=options)
    storage.leads = True
    storage.pulse = DatabasePulse(
        address.dsn, address.name, adapter.connmanager.driver, keep_history=options.keep_history
    )
    storage.pulse.start()
    return storage
