"""Canaries: what opsapp.runtime.internals takes from libraries is still there, and still means the same."""

import contextvars
import gc
import io
import os
from functools import partial
from types import SimpleNamespace

import apprise
import colander
import gevent.socket
import pyramid_zodbconn
import pytest
import transaction
import ZEO
import ZODB
import zodburi
from persistent.mapping import PersistentMapping
from pyramid import testing
from ZEO.ClientStorage import ClientStorage
from ZEO.StorageServer import LockManager, TimeoutThread
from ZODB.broken import find_global
from ZODB.FileStorage import FileStorage
from ZODB.POSException import StorageError

from opsapp.runtime import internals
from tests.support.waiting import patience


@pytest.fixture
def database(tmp_path):
    db = ZODB.DB(FileStorage(str(tmp_path / "main.fs")))
    yield db
    db.close()


def test_zodb_the_index_of_a_file_has_every_object(database):
    with database.transaction() as connection:
        connection.root()["map"] = PersistentMapping()
    ids = internals.record_ids(database.storage)
    assert len(list(ids)) == len(database.storage) == 2
    assert bytes(8) in ids


def test_zodb_a_file_that_cannot_be_opened_is_closed_again(database, tmp_path):
    path = tmp_path / "read.fs"
    path.write_bytes(b"FS21" + bytes([0]) * 7 + b"x" + bytes(30))
    with pytest.raises(StorageError):
        internals.read_only_file(path)
    gc.collect()  # a file that is still open is a ResourceWarning, and that an error
    assert [name for name in os.listdir("/proc/self/fd") if _target(name) == str(path)] == []


def _target(name):
    try:
        return os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return None


def test_zodb_the_index_of_a_file_is_written(database, tmp_path):
    with database.transaction() as connection:
        connection.root()["a"] = 1
    index = tmp_path / "main.fs.index"
    index.unlink(missing_ok=True)
    internals.save_index(database.storage)
    assert index.stat().st_size > 0


def test_zodb_its_unpickler_reads_a_record(database):
    data = database.storage.load(bytes(8))[0]
    unpickler = internals.PersistentUnpickler(lambda module, name: (module, name), None, io.BytesIO(data))
    assert "PersistentMapping" in str(unpickler.load())


def test_zeo_a_client_holds_ids_and_a_time_out(tmp_path):
    address, stop = ZEO.server(path=str(tmp_path / "zeo.fs"))
    try:
        storage = ClientStorage(address, wait_timeout=10 * patience())
        try:
            storage.new_oid()
            held = internals.reserved_ids(storage)
            assert isinstance(held, list)
            assert held, "the ids that the server gave in advance"
            internals.limit_waiting(storage, 0.25)
            assert storage._server.timeout == 0.25
            assert internals.commits_at_once(storage) == 1
        finally:
            storage.close()
    finally:
        stop()


def test_only_zeo_reserves_ids_and_waits(database):
    assert internals.reserved_ids(database.storage) is None
    internals.limit_waiting(database.storage, 1.0)
    assert internals.commits_at_once(database.storage) == 0


def test_zeos_server_tells_a_watch_of_locks_and_has_a_transport_to_break():
    """What `lock_watches` and `break_connection` do is tried on a real server in tests/system/test_hanging.py."""
    assert {"begin", "end"} <= set(dir(TimeoutThread))
    watch = SimpleNamespace(begin=lambda client: None, end=lambda client: None, start=lambda: None)
    server = SimpleNamespace(lock_managers={"main": LockManager("main", None, None)})
    internals.lock_watches(server, lambda: watch)
    assert server.lock_managers["main"].timeout is watch
    broken = []
    transport = SimpleNamespace(abort=lambda: broken.append(True))
    internals.break_connection(SimpleNamespace(sm_protocol=SimpleNamespace(transport=transport)))
    assert broken == [True]


def test_transaction_knows_who_has_joined(database):
    manager = transaction.TransactionManager(explicit=True)
    connection = database.open(transaction_manager=manager)
    manager.begin()
    assert not internals.has_changes(manager.get())
    connection.root()["a"] = 1
    assert internals.has_changes(manager.get())
    manager.abort()
    connection.close()


@pytest.mark.parametrize(
    "address", ["memory://", "file://{}/main.fs", "file://{}/./main.fs?connection_cache_size=10000"]
)
def test_pyramid_zodbconn_keeps_its_databases_in_the_registry_and_asks_us_what_an_address_means(address, tmp_path):
    address = address.format(tmp_path)
    with testing.testConfig(settings={"zodbconn.uri": address}) as config:
        config.include("pyramid_tm")
        pyramid_zodbconn.includeme(config, partial(pyramid_zodbconn.db_from_uri, resolve_uri=internals.resolved))
        databases = internals.opened_databases(config.registry)
        assert [type(db) for db in databases.values()] == [ZODB.DB]
        opened = _said_of(databases[""])
    factory, options = zodburi.resolve_uri(address)
    assert opened == _said_of(ZODB.DB(factory(), **{**options, "database_name": ""}))
    assert opened["objects"] == internals.UNSAID


def _said_of(database):
    """What an address decides, of a database that is closed then."""
    storage = database.storage
    said = {
        "kind": type(storage),
        "file": storage.getName() if isinstance(storage, FileStorage) else "",
        "objects": database.getCacheSize(),
        "bytes": database.getCacheSizeBytes(),
        "connections": database.getPoolSize(),
        "name": database.database_name,
    }
    database.close()
    return said


def test_apprise_looks_in_its_tracker_who_has_a_message():
    assert isinstance(internals.delivery_tracker(), contextvars.ContextVar), apprise.__version__


def test_zodb_has_a_connection_from_the_beginning_that_keeps_its_factory(database):
    asked = []

    def factory(_connection, module, name):
        asked.append(f"{module}.{name}")
        return find_global(module, name)

    internals.load_classes_by(database, factory)
    first, second = (database.open(transaction.TransactionManager()) for _ in range(2))
    for reader, writer in ((first, second), (second, first)):  # the connection that there was, and a new one
        writer.root()[str(id(writer))] = PersistentMapping()
        writer.transaction_manager.commit()
        reader.transaction_manager.begin()
        asked.clear()
        assert str(id(writer)) in reader.root()
        assert "persistent.mapping.PersistentMapping" in asked
        reader.transaction_manager.commit()
    first.close()
    second.close()


def test_colander_orders_fields_by_their_number():
    first, second = colander.SchemaNode(colander.String(), name="a"), colander.SchemaNode(colander.String(), name="b")
    third = colander.SchemaNode(colander.String(), name="c")
    internals.take_order_of(first, third)

    class Ordered(colander.Schema):
        a = first
        b = second

    assert [child.name for child in Ordered().children] == ["b", "a"]


def test_gevent_has_a_plain_socket_inside():
    ours, theirs = gevent.socket.socketpair()
    with pytest.raises(BlockingIOError):
        internals.receive_now(ours, 10)
    with pytest.raises(BlockingIOError):
        internals.peek_now(ours)
    theirs.sendall(b"abc")
    assert internals.peek_now(ours) == b"a"
    assert internals.receive_now(ours, 10) == b"abc"
    theirs.close()
    assert internals.peek_now(ours) == b""
    ours.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        internals.peek_now(ours)
