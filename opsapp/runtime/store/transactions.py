"""The store's door: short transactions on plain values, with retries of conflicts.

Runs in whichever native thread it is called in; `opsapp.runtime.node` hops from the hub.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import transaction
from persistent import Persistent
from transaction.interfaces import NoTransaction, TransientError
from ZEO.Exceptions import ClientDisconnected
from ZODB import DB
from ZODB.POSException import ConflictError, POSError, ReadConflictError, ReadOnlyError, StorageError

from opsapp.lib.problems import OutcomeUnknown, StoreAway, StoreFull
from opsapp.runtime.internals import UNSAID, has_changes, limit_waiting, load_classes_by, reserved_ids
from opsapp.tree.classes import class_factory
from opsapp.tree.root import Root, root_of

from . import past
from .commits import CommitGate
from .diskspace import FULL, Room
from .zeowatch import watches

Databases = Mapping[str, DB]  # the first without a name, and the history
ATTEMPTS = 8
FIRST_BACKOFF_S = 0.002
CONNECTIONS = 32  # above it ZODB warns: as many as are used at once, two by a thread that begins one within another
# Each connection has a cache of its own, bounded by both. What is read often is in memory as plain values anyway, but
# not the indexes of a store with years of records: a page of a list reads hundreds of their pieces, and the cache must
# hold those of the page that is asked for next. A store's URI may say otherwise (connection_cache_size,
# connection_cache_size_bytes).
CACHE_OBJECTS = 4000
CACHE_BYTES = 8 << 20
FRESHEN_S = 20.0
AWAY = (ClientDisconnected, ReadOnlyError)
AWAY_S = 2.0  # what a transaction under way waits for a store that went away, before its caller hears of it
TURN_AFTER = 3  # attempts
TURN_WAIT_S = 2.0  # then one goes on without: a turn is a help, not a lock, and its holder may be slow


class Turns:
    """Turns for transactions that lose again and again: whoever commits first makes others begin again, so one may
    never get through. One that has lost a few times begins its next attempts in turn with others of its kind, and
    nobody else of this process commits meanwhile."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._counting = threading.Lock()
        self._losers = 0

    @contextmanager
    def attempt(self, number: int) -> Iterator[None]:
        """Around an attempt from its beginning to its end, the first being 0."""
        if number < TURN_AFTER:
            yield
            return
        self._count(1)
        try:
            with self._turn_if_free_in_time():
                yield
        finally:
            self._count(-1)

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Around every commit: it waits while somebody has the turn."""
        if not self._losers:
            yield
            return
        with self._turn_if_free_in_time():
            yield

    @contextmanager
    def _turn_if_free_in_time(self) -> Iterator[None]:
        mine = self._turn.acquire(timeout=TURN_WAIT_S)
        try:
            yield
        finally:
            if mine:
                self._turn.release()

    def _count(self, more: int) -> None:
        with self._counting:
            self._losers += more


def backoff(attempt: int) -> float:
    return random.uniform(0.5, 1.5) * FIRST_BACKOFF_S * 2**attempt


def is_connected(db: Any) -> bool:
    """Whether the storage answers, without asking it anything that could block."""
    asked = getattr(db.storage, "is_connected", None)
    return True if asked is None else bool(asked())


def forget_ids_when_away(db: Any) -> None:
    """A ZEO client holds ids for objects to come. A server that is killed gives them to another client too, so they
    must not outlive the connection. Seen: "A different object already has the same oid"."""
    storage = db.storage
    held = reserved_ids(storage)
    if held is None:
        return
    disconnected = storage.notify_disconnected

    def notify_disconnected() -> None:
        held.clear()
        disconnected()

    storage.notify_disconnected = notify_disconnected


def give_up_soon_when_away(db: Any) -> None:
    """`wait_timeout` of a ZEO store's URI (30 s unless said) is for the start. For a store that goes away later it
    would hold every thread within a transaction that long."""
    limit_waiting(db.storage, AWAY_S)


class Manager(transaction.TransactionManager):
    """An explicit transaction manager. abort() without a transaction is a no-op, because a closing database aborts its
    connections. A transaction without changes commits without waiting for a turn, and on a full disk too."""

    def __init__(self, store: Store) -> None:
        super().__init__(explicit=True)
        self.store = store
        self.began = 0.0  # what was committed before that moment is seen
        self._taken_in: list[Any] = []

    def begin(self) -> Any:
        """Only the main database is asked what was committed; another one when the transaction first looks into it. On
        a shared store each is a question."""
        while self._taken_in:
            self.unregisterSynch(self._taken_in.pop())
        began = time.monotonic()
        try:
            return super().begin()
        finally:
            self.began = began

    def registerSynch(self, synch: Any) -> None:
        """The first connection is that of the main database, and stays."""
        is_another = self.registeredSynchs()
        super().registerSynch(synch)
        if is_another and synch not in self._taken_in:
            self._taken_in.append(synch)

    def unregisterSynch(self, synch: Any) -> None:
        """A connection that closes may not be taken in."""
        if synch in self._synchs:
            super().unregisterSynch(synch)

    def take_in(self, connection: Any) -> None:
        """What was committed to another database: once in a transaction, before it is read."""
        if connection not in self._taken_in:
            self.registerSynch(connection)

    def commit(self) -> None:
        """A conflict is safe to repeat; a storage that broke off in between may have stored it or not."""
        if not has_changes(self.get()):
            super().commit()
            return
        with self.store.turns.commit(), self.store.gate.passing():
            self.store.room.check()
            try:
                super().commit()
            except (ReadOnlyError, ConflictError, ReadConflictError):
                raise
            except (TransientError, StorageError, POSError, OSError) as broken:
                if isinstance(broken, OSError) and broken.errno in FULL:
                    raise StoreFull from broken
                raise OutcomeUnknown from broken
            finally:
                self.store.note_commit()

    def abort(self) -> None:
        if self.under_way():
            super().abort()

    def under_way(self) -> bool:
        try:
            self.get()
        except NoTransaction:
            return False
        return True


def began_at(root: Root) -> float:
    """When the transaction behind `root` began (monotonic): what was committed before is seen. 0 where nobody says."""
    connection: Any = root._p_jar
    return float(getattr(connection.transaction_manager, "began", 0.0))


class StoreConnection:
    """A connection with a transaction manager of its own. It stays open between transactions: opening and closing one
    costs as much as a small view. Each transaction begins by taking in what others have committed."""

    __slots__ = ("connection", "manager", "used")

    def __init__(self, store: Store):
        self.used = True  # since it was freshened last
        self.manager = Manager(store)
        self.connection = store.db.open(transaction_manager=self.manager)

    def freshen(self) -> None:
        """Take in what was committed; one that nobody uses keeps nothing in its cache."""
        try:
            self.manager.begin()
            for other in tuple(self.connection.connections.values()):
                if other is not self.connection:
                    self.manager.take_in(other)
        finally:
            self.manager.abort()
        if not self.used:
            self.connection.cacheMinimize()
        self.used = False


class Store:
    def __init__(self, databases: Databases):
        self.databases = databases
        self._free: list[StoreConnection] = []  # a stack: the few on its top serve most, and cache what is asked for
        self.turns = Turns()
        self.room = Room(databases.values())
        self.gate = CommitGate.of(db.storage for db in databases.values())
        self.committed = object()  # another one after each commit of this process
        self._watches = watches([db.storage for db in databases.values()])
        for db in databases.values():
            load_classes_by(db, class_factory)
            forget_ids_when_away(db)
            give_up_soon_when_away(db)
            db.setPoolSize(CONNECTIONS)
            if db.getCacheSize() == UNSAID:
                db.setCacheSize(CACHE_OBJECTS)
            if not db.getCacheSizeBytes():
                db.setCacheSizeBytes(CACHE_BYTES)

    @property
    def db(self) -> Any:
        return self.databases[""]

    def note_commit(self) -> None:
        """Called from any thread, when what was committed can be seen."""
        self.committed = object()

    def check_connected(self) -> None:
        """Raise StoreAway at once where opening a connection would block until some time-out."""
        for db in self.databases.values():
            if not is_connected(db):
                raise StoreAway

    def borrow(self) -> StoreConnection:
        """A place that the caller alone has until it gives it back."""
        try:
            place = self._free.pop()
        except IndexError:
            return StoreConnection(self)
        place.used = True
        return place

    def give_back(self, place: StoreConnection) -> None:
        """Give back a connection, which is not used again where its transaction did not end, or its database was
        closed."""
        if place.connection.opened is not None and not place.manager.under_way():
            self._free.append(place)
            return
        place.manager.abort()
        if place.connection.opened is not None:
            place.connection.close()

    def freshen(self) -> None:
        """Called from any thread, now and then. A free connection remembers the id of each object that others have
        changed until its next transaction, and some have none for days."""
        self.check_connected()
        for place in reversed(tuple(self._free)):
            try:
                self._free.remove(place)
            except ValueError:  # it is lent
                continue
            try:
                place.freshen()
            except AWAY as away:
                raise StoreAway from away
            finally:
                self._free.insert(0, place)  # from the top down, so they keep their order

    def transact(self, fn: Callable[..., Any], values: tuple[Any, ...], root_from: Any = root_of) -> Any:
        """Run `fn` in a transaction; a plain answer. A conflict runs it again, nothing else does."""
        for attempt in range(ATTEMPTS):
            self.check_connected()
            try:
                with self.turns.attempt(attempt):
                    return self._once(fn, values, root_from)
            except ConflictError:
                if attempt == ATTEMPTS - 1:
                    raise
                time.sleep(backoff(attempt))
            except AWAY as away:
                raise StoreAway from away
        raise AssertionError("unreachable")

    def _once(self, fn: Callable[..., Any], values: tuple[Any, ...], root_from: Any) -> Any:
        place = self.borrow()
        manager = place.manager
        try:
            manager.begin()
            answer = fn(root_from(place.connection), *values)
            if isinstance(answer, Persistent):
                raise TypeError(f"{fn!r} lets a persistent object out of its transaction")
            manager.commit()
            return answer
        except BaseException:
            manager.abort()
            raise
        finally:
            self.give_back(place)

    def transact_at(self, at: int, fn: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        """Run `fn` on the tree at the end of that second; Gone where that is not kept."""
        if at + 1 <= self.transact(past.readable_since, ()):
            raise past.gone()
        return past.read_at(self.db, at, fn, values)

    def close(self) -> None:
        for watch in self._watches:
            watch.end()
        for db in self.databases.values():
            db.close()
