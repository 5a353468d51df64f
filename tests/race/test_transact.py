"""Many threads through the one door: nothing lost, nothing doubled, one order of events."""

import errno
import itertools
import threading
from types import SimpleNamespace

import pytest
from ZEO.Exceptions import ClientDisconnected
from ZODB.POSException import ConflictError, ReadConflictError, StorageTransactionError

from opsapp.healing.engine.health import health_of
from opsapp.lib.problems import OutcomeUnknown, StoreAway, StoreFull
from opsapp.runtime import events
from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.store import diskspace, transactions
from opsapp.runtime.store.postgresql.connections import DatabaseAway
from opsapp.tree.root import root_of
from tests.support.app import Service

ADMIN = {"username": "admin", "password": "first admin password"}
THREADS = 6
TIMES = 25


def in_threads(work, how_many=THREADS):
    """Run work(n) in so many threads at once; re-raise what went wrong in any."""
    wrong = []
    gate = threading.Barrier(how_many)

    def run(n):
        gate.wait()
        try:
            work(n)
        except BaseException as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(how_many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path, clock=Clock())
    yield service
    service.close()


def test_every_event_is_read_once_and_in_one_order(service):
    """Several readers at their own pace see the same events in the same order."""
    tails = [events.Tail(service.node) for _ in range(2)]

    def work(n):
        for k in range(TIMES):
            service.node.transact(lambda root, k=k: events.emit(root, "test", {"writer": n, "k": k}))
            if n < len(tails):
                tails[n].step()

    in_threads(work)
    orders = []
    for tail in tails:
        tail.step()
        orders.append([(event.data["writer"], event.data["k"]) for event in tail.since("") if event.kind == "test"])
    assert orders[0] == orders[1]
    assert len(orders[0]) == len(set(orders[0])) == THREADS * TIMES
    for n in range(THREADS):
        assert [k for writer, k in orders[0] if writer == n] == list(range(TIMES))


def test_conflicts_are_run_again_until_all_is_counted(service):
    """However many change the same object and however long each takes: who has lost often gets a turn."""
    service.node.transact(lambda root: root.system.__setitem__("counter", 0))
    seen = []

    def count(root):
        root.system["counter"] += 1
        for _ in range(100_000):  # a few milliseconds, in which others come in between
            pass
        return root.system["counter"]

    def work(n):
        for _ in range(5):
            seen.append(service.node.transact(count))

    in_threads(work, 16)
    assert sorted(seen) == list(range(1, 16 * 5 + 1))


def test_writers_have_names_of_their_own_that_are_used_again(service):
    names = []

    def work(n):
        names.append(service.node.writer())

    in_threads(work)
    in_threads(work)
    assert len(set(names)) <= THREADS + 1


def test_a_commit_that_breaks_off_is_unknown_and_not_repeated(service, monkeypatch):
    runs = []

    def work(root):
        runs.append(1)
        root.system["half"] = True

    def broken(*_args, **_more):
        raise StorageTransactionError("the disk went away")

    monkeypatch.setattr(service.node.store.db.storage, "tpc_finish", broken, raising=False)
    monkeypatch.setattr("ZODB.Connection.Connection.tpc_finish", broken)
    with pytest.raises(OutcomeUnknown):
        service.node.transact(work)
    assert len(runs) == 1


def test_a_view_whose_commit_breaks_off_says_so_and_is_not_repeated(service, monkeypatch):
    broken_off = []

    def broken(*_args, **_more):
        broken_off.append(1)
        raise StorageTransactionError("the disk went away")

    monkeypatch.setattr("ZODB.Connection.Connection.tpc_finish", broken)
    answer = service.anonymous.post_json("/api/login", ADMIN, status=503)
    assert (answer.json["code"], len(broken_off)) == ("outcome_unknown", 1)
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize("failure", [ConflictError, ReadConflictError, ClientDisconnected, DatabaseAway])
@pytest.mark.parametrize("failures", [1, 2, 100])
def test_a_request_whose_transaction_could_not_begin_is_never_a_500(service, monkeypatch, failure, failures):
    """Seen while PostgreSQL went away: the next attempt ran without a transaction."""
    begin, left = transactions.Manager.begin, itertools.repeat(None, failures)

    def failing(manager):
        for _ in left:
            raise failure("gone")
        return begin(manager)

    monkeypatch.setattr(transactions.Manager, "begin", failing)
    for _ in range(2):
        answer = service.anonymous.post_json("/api/login", ADMIN, expect_errors=True)
        assert answer.status_int == (200 if failures < transactions.ATTEMPTS else 503)
        assert answer.status_int == 200 or answer.headers["Retry-After"]


def test_a_full_disk_takes_no_changes_and_is_still_read(service, monkeypatch):
    full = SimpleNamespace(f_bavail=100, f_bfree=100, f_frsize=4096)
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(diskspace.os, "statvfs", lambda _directory: full)
        with pytest.raises(StoreFull):
            service.node.transact(lambda root: root.system.__setitem__("more", True))
        assert service.node.transact(lambda root: root.system.get("more")) is None
        answer = service.anonymous.post_json("/api/login", ADMIN, status=503)
        assert (answer.json["code"], "Retry-After" in answer.headers) == ("store_full", True)
        service.anonymous.get("/api/status/public")
        assert "the disk of the store is full" in service.node.transact(health_of).reasons
    service.anonymous.post_json("/api/login", ADMIN)
    assert service.node.transact(health_of).reasons == ()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
def test_a_disk_that_is_full_in_the_middle_of_a_write_is_told_the_same(service, monkeypatch, number):
    def no_room(*_args):
        raise OSError(number, "no room")

    monkeypatch.setattr("ZODB.Connection.Connection.tpc_vote", no_room)
    with pytest.raises(StoreFull):
        service.node.transact(lambda root: root.system.__setitem__("more", True))
    assert service.anonymous.post_json("/api/login", ADMIN, status=503).json["code"] == "store_full"


def test_a_store_that_is_away_is_told_at_once(service, monkeypatch):
    monkeypatch.setattr(service.node.store.db.storage, "is_connected", lambda: False, raising=False)
    with pytest.raises(StoreAway):
        service.node.transact(lambda root: None)
    answer = service.anonymous.get("/api/status/public", status=503)
    assert answer.headers["Retry-After"]
    assert answer.json["code"] == "store_unavailable"


def test_persistent_objects_do_not_leave(service):
    with pytest.raises(TypeError, match="persistent"):
        service.node.transact(lambda root: root)


def test_connections_that_nobody_uses_forget_what_others_changed(service):
    """Each remembers the ids of objects that changed since its last transaction: for days, if nobody sees to it."""
    store = service.node.store
    top, idle = store.borrow(), store.borrow()
    store.give_back(idle)
    store.give_back(top)  # what came back last serves next, and again
    waiting = idle.connection._storage._invalidations
    for k in range(5):
        service.node.transact(change, 1, k)
    assert len(waiting) > 0
    store.freshen()
    assert len(idle.connection._storage._invalidations) == 0
    assert store.borrow() is top
    assert store.borrow() is idle


def test_connections_that_nobody_uses_cache_nothing_in_the_end(service):
    store = service.node.store
    top, idle = store.borrow(), store.borrow()
    for place in (idle, top):
        place.manager.begin()
        list(root_of(place.connection).values())
        place.manager.abort()
        store.give_back(place)
    store.freshen()
    service.node.transact(change, 1, 1)
    assert idle.connection._cache.cache_non_ghost_count > 0
    store.freshen()
    assert idle.connection._cache.cache_non_ghost_count == 0
    assert top.connection._cache.cache_non_ghost_count > 0


def test_freshening_takes_no_connection_from_who_uses_it(service):
    ended = threading.Event()
    freshening = threading.Thread(target=lambda: [service.node.store.freshen() for _ in iter(ended.is_set, True)])
    freshening.start()
    try:
        in_threads(lambda n: [service.node.transact(change, n, k) for k in range(TIMES)])
    finally:
        ended.set()
        freshening.join()
    service.node.events.step()
    told = [(event.data["writer"], event.data["k"]) for event in service.node.events.since("") if event.kind == "test"]
    assert sorted(told) == [(n, k) for n in range(THREADS) for k in range(TIMES)]


def change(root, n, k):
    events.emit(root, "test", {"writer": n, "k": k})
