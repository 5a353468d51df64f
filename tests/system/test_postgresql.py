"""A store in PostgreSQL: opened as people write its address, packed, saved, restored, away and back. How soon things
are known is told by `make bench ARGS=database`."""

import contextlib
import os
import threading
import time

import pytest
from persistent.mapping import PersistentMapping
from persistent.TimeStamp import TimeStamp
from ZEO.Exceptions import ClientDisconnected
from ZODB.utils import u64

from opsapp.lib.problems import StoreAway
from opsapp.runtime.store.postgresql import deletion
from opsapp.runtime.store.postgresql import storage as storages
from opsapp.runtime.store.transactions import Store
from opsapp.wire.version import VERSION
from tests.cluster.places import Disk
from tests.support.automations import ended, run, script
from tests.support.manyfiles import holding
from tests.support.postgres import Postgres
from tests.support.process import PASSWORD, ROOT, Serve, opsapp
from tests.support.stores import opened, stands_still
from tests.support.waiting import until
from tests.support.writers import Writer, missing, stored, write

pytestmark = [pytest.mark.system, pytest.mark.own_store]


@pytest.fixture(scope="module")
def shared():
    """A server that no test kills."""
    with Postgres() as server:
        yield server


@pytest.fixture
def server():
    with Postgres() as server:
        yield server


@contextlib.contextmanager
def change(db):
    with db.transaction() as connection:
        yield connection.root()


def test_a_commit_of_another_process_is_heard_without_a_transaction(shared):
    uri = shared.uri(shared.make_database())
    with opened(uri) as writes, opened(uri) as hears:
        for number in range(20):
            with change(writes) as root:
                root["number"] = number
            until(lambda: hears.lastTransaction() == writes.lastTransaction(), 5, what="the commit heard of")


@pytest.mark.parametrize("keep_history", ["true", "false"])
def test_every_record_is_gone_through_as_it_is_now(shared, monkeypatch, keep_history):
    monkeypatch.setattr(storages, "PAGE", 3)
    with opened(shared.uri(shared.make_database(), keep_history=keep_history)) as db:
        db.storage.record_iternext()  # what its first connection sees must not be what it sees for good
        with change(db) as root:
            for number in range(10):
                root[number] = PersistentMapping({"number": number})
        with change(db) as root:
            root[3]["number"] = "newer"
        there, position = {}, None
        while True:
            oid, tid, data, position = db.storage.record_iternext(position)
            there[oid] = (tid, data)
            if position is None:
                break
        assert [u64(oid) for oid in there] == sorted(u64(oid) for oid in there)
        with db.transaction() as connection:
            held = {connection.root()._p_oid, *(connection.root()[number]._p_oid for number in range(10))}
            assert set(there) == held
            newest = connection.root()[3]
            assert "newer" in newest.values()
            assert there[newest._p_oid][0] == newest._p_serial


def test_a_process_that_holds_a_thousand_files_hears_of_its_database(shared):
    """A node with a thousand hosts: each is a file, and what is opened after them has a number above 1023."""
    with holding(1100), opened(shared.uri(shared.make_database())) as db:
        until(db.storage.is_connected, what="the database heard of")
        with change(db) as root:
            root["number"] = 1


def test_ids_that_a_lost_database_gave_are_forgotten(server):
    """A replica that takes over may not know of the newest ones and give them again."""
    with opened(server.uri(server.make_database())) as db:
        with change(db) as root:
            root["a"] = PersistentMapping()
        held = db.open()
        first = u64(held.new_oid())
        server.kill()
        until(lambda: not db.storage.is_connected(), 5, what="the end heard of")
        server.start()
        until(db.storage.is_connected, 5, what="the server heard of again")
        assert u64(held.new_oid()) > first + 1
        held.close()


def test_a_commit_that_waits_for_a_lock_ends_before_its_holder_does(shared):
    """One that stands still between its vote and its end holds a lock: others are told to try again soon."""
    uri = shared.uri(shared.make_database(), lock_timeout="0.2", held_timeout="600")
    with opened(uri) as one, opened(uri) as two:
        with change(one) as root:
            root["shared"] = PersistentMapping()
        holder, of_txn = stands_still(one)
        with pytest.raises(StoreAway, match="wait for another node"), change(two) as root:
            root["shared"]["by"] = "another"
        holder.tpc_finish(of_txn)
        holder.close()
        with change(two) as root:
            assert root["shared"]["by"] == "the one that stands still"
            root["shared"]["by"] = "another"


def test_who_holds_a_lock_for_too_long_is_cut_off(shared):
    uri = shared.uri(shared.make_database(), lock_timeout="0.2", held_timeout="1")
    with opened(uri) as one, opened(uri) as two:
        with change(one) as root:
            root["shared"] = PersistentMapping()
        stuck, of_txn = stands_still(one)

        def written():
            try:
                with change(two) as root:
                    root["shared"]["by"] = "another"
            except StoreAway:
                return False
            return True

        until(written, 5, what="the lock free again")
        with pytest.raises(ClientDisconnected):
            stuck.tpc_finish(of_txn)
        with change(two) as root:
            assert root["shared"]["by"] == "another"


def test_a_pack_deletes_what_is_old_and_what_nothing_refers_to_and_nothing_else(shared, monkeypatch):
    """Over many pages, with commits going on."""
    monkeypatch.setattr(deletion, "PAGE", 7)
    uri = shared.uri(name := shared.make_database())
    with opened(uri) as db:
        with change(db) as root:
            root["kept"] = PersistentMapping()
            for number in range(30):
                root[number] = PersistentMapping({"number": number})
        for round in range(40):
            with change(db) as root:
                root["kept"]["round"] = round
                root.pop(round, None)
                root[f"new {round}"] = PersistentMapping({"number": round})
        until_tid = db.lastTransaction()
        over, late = threading.Event(), []

        def write():
            while not over.wait(0.01):
                with change(db) as root:
                    root["kept"]["late"] = len(late)
                    late.append(1)

        writing = threading.Thread(target=write)
        writing.start()
        try:
            db.pack(TimeStamp(until_tid).timeTime() + 0.001)
        finally:
            over.set()
            writing.join()
        states = shared.ask(
            "SELECT zoid, count(*) FROM object_state WHERE tid <= %s GROUP BY 1", u64(until_tid), database=name
        )
        assert {count for _, count in states} == {1}
        assert len(states) == 1 + 1 + 40, "the root, what is kept, the new ones; nothing that was taken out"
        assert shared.ask("SELECT count(*) FROM transaction WHERE is_empty", database=name) == [(0,)]
        assert shared.ask("SELECT count(*) FROM pack_state", database=name) == [(0,)]
    with opened(uri) as db, db.transaction() as connection:
        root = connection.root()
        assert {key: value["number"] for key, value in root.items() if key != "kept"} == {
            f"new {round}": round for round in range(40)
        }
        assert dict(root["kept"]) == {"round": 39, "late": len(late) - 1}


def commands(uris, data):
    words = ("--store", uris["store"], "--history-store", uris["history_store"], "--data", data)
    return lambda *command: opsapp(*command, *words, OPSAPP_ADMIN_PASSWORD=PASSWORD)


@pytest.mark.nightly("starts many processes; the engines' own suite does more")
def test_what_is_done_with_a_store_is_done_with_this_one(shared, tmp_path):
    """init, doctor, reading the past, rekey, pack: beside a running node."""
    uris, data = shared.uris(), tmp_path / "data"
    shell = commands(uris, data)
    assert shell("init").returncode == 0
    assert shell("doctor").returncode == 0
    with Serve(tmp_path / "serve", node="one", data=data, **uris) as serve:
        path = "/api/monitoring/endpoints"
        shop = {"name": "Shop", "url": "http://127.0.0.1:1/", "type": "http"}
        monitor = f"{path}/{serve.admin.post(path, shop, expect=201)['id']}"
        then = int(time.time()) + 1
        until(lambda: time.time() > then + 1, what="the second to end")
        assert serve.admin.request("PUT", monitor, {"name": "Store"}).status == 200
        assert serve.admin.get(f"{monitor}?as_of={then}")["name"] == "Shop"
        assert "sealed" in shell("rekey").stdout
        assert serve.client().login("admin", PASSWORD).get("/api/me")["username"] == "admin"
        packed = shell("pack", "--days", "0")
        assert (packed.returncode, packed.stderr) == (0, "")
        assert serve.admin.request("GET", f"{monitor}?as_of={then}").status == 410
        assert serve.admin.get(monitor)["name"] == "Store"
        assert serve.admin.get("/api/store")["sizes"]["main"] > 0
        refused = shell("backup", tmp_path / "copy")
        assert (refused.returncode, "PostgreSQL has tools of its own" in refused.stderr) == (1, True)


@pytest.mark.nightly("starts many processes for one rule")
def test_a_dump_restores_the_store(shared, tmp_path):
    """As docs/guide/cluster.md says it: both databases are dumped while writes go on, then read into new ones."""
    uris, data = shared.uris(), tmp_path / "data"
    with Serve(tmp_path / "serve", node="one", data=data, **uris) as serve:
        before = Writer(serve.admin, "before")
        until(lambda: len(before.answered) > 10, what="some writes")
        saved = dict(before.answered)
        restored = {}
        for name in ("history_store", "store"):  # what is referred to is the newer one
            copy, new = shared.directory / f"{name}.dump", shared.make_database()
            shared.run("pg_dump", "-Fc", "-d", uris[name], "-f", copy)
            shared.run("pg_restore", "--no-owner", "--exit-on-error", "-d", shared.uri(new), copy)
            restored[name] = shared.uri(new)
        before.end()
    with Serve(tmp_path / "again", node="two", data=data, **restored) as again:
        there = stored(again.admin)
        assert {key: there.get(key) for key in saved} == saved
        write(again.admin, "after")


def test_a_store_that_does_not_open_says_why_and_no_password(shared, tmp_path):
    for uri, said in (
        ("postgresql://u:geheim@127.0.0.1:1/db?wait_timeout=0", "Connection refused"),
        (f"postgresql://opsapp:geheim@127.0.0.1:{shared.port}/nowhere?wait_timeout=0", "does not exist"),
        ("postgresql://u:geheim@h/db?blah=1", "blah"),
        ("pgsql://u:geheim@h/db", "not a known kind of store"),
    ):
        done = opsapp("init", "--store", uri, "--data", tmp_path)
        assert (done.returncode, said in done.stderr, "geheim" in done.stderr + done.stdout) == (1, True, False), done


def asked(client, path="/api/me"):
    return client.request("GET", path).status


@pytest.mark.nightly("the core list has a ZEO server that stands still")
@pytest.mark.parametrize("how", ["crashed", "frozen"])
def test_while_it_is_away_everybody_is_told_so(server, tmp_path, how):
    """Before it is back, for that is after all of them have been told. Nobody waits for a database that stands still:
    it would be for as long as they ask."""
    with Serve(tmp_path, node="one", **server.uris()) as serve:
        writer = Writer(serve.admin, "writer")
        until(lambda: writer.answered, what="a write")
        with contextlib.ExitStack() as outage:
            if how == "crashed":
                server.kill()
            else:
                outage.enter_context(server.frozen())
            assert asked(serve.admin) == 503
            until(lambda: writer.refused > 5, 10, what="writes refused")
            assert {asked(serve.admin) for _ in range(20)} == {503}
        if how == "crashed":
            server.start()
        before = len(writer.answered)
        until(lambda: len(writer.answered) > before, 10, what="writes going on")
        writer.end()
        assert missing(serve.admin, [writer]) == {}


def test_runs_end_although_the_database_was_restarted(server, tmp_path):
    """What was under way when it went goes on when it is back; nothing stays `running`, nothing waits behind it."""
    with Serve(tmp_path, node="one", **server.uris()) as serve:
        gate = tmp_path / "gate"
        text = f"touch {tmp_path}/began.$$; while [ ! -e {gate} ]; do sleep 0.1; done; touch {tmp_path}/ended.$$"
        slow = [script(serve, text, name=f"slow {n}") for n in range(6)]
        runs = [run(serve, automation) for automation in slow]
        until(lambda: list(tmp_path.glob("began.*")), 20, what="a first run")
        server.kill()
        begun = len(list(tmp_path.glob("began.*")))
        gate.touch()  # the scripts end while nobody can write it down
        until(lambda: len(list(tmp_path.glob("ended.*"))) >= begun, 20, what="their ends")
        server.start()
        until(lambda: asked(serve.admin) == 200, 10, what="an answer")
        assert {ended(serve, slow_run, 30)["status"] for slow_run in runs} <= {"done", "lost"}
        assert ended(serve, run(serve, script(serve, "echo after", name="after")), 20)["status"] == "done"


@pytest.fixture
def small_disk():
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    disk = Disk(300)
    yield disk
    disk.remove()


def refused_as_such(client):
    """Of the commit in which the database ends itself nobody knows what became of it: it says so."""
    refused = client.request("POST", "/api/agents", {"label": "x"})
    assert refused.status == 503
    return refused.json["code"] in ("store_full", "store_away")


@pytest.mark.nightly("fills a disk until the database ends itself")
def test_a_full_disk_of_the_database_is_told_as_such_and_loses_nothing(small_disk, tmp_path):
    """Seen: answers 500 instead of 503, and steps that failed."""
    with Postgres(settings={"max_wal_size": "64MB", "min_wal_size": "32MB"}) as server:
        server.move(small_disk.path)
        server.start()
        with Serve(tmp_path, node="one", **server.uris()) as serve:
            writer = Writer(serve.admin, "writer")
            until(lambda: len(writer.answered) > 10, 20, what="writes")
            small_disk.fill()
            until(lambda: writer.refused > 3, 30, what="writes refused")
            until(lambda: refused_as_such(serve.admin), 30, what="words that say why")
            small_disk.free()
            if not server.running:  # it ends where its log finds no room; systemd starts it again
                server.start()
            before = len(writer.answered)
            until(lambda: len(writer.answered) > before, 30, what="writes going on")
            writer.end()
            assert missing(serve.admin, [writer]) == {}
            assert "unforeseen" not in serve.log.read_text()


def test_connections_that_nobody_uses_say_that_the_database_is_away(server):
    """Seen: the step that freshens them failed again and again, and would have ended the process."""
    with opened(server.uri(server.make_database())) as db:
        store = Store({"": db})
        store.give_back(store.borrow())
        store.freshen()
        server.kill()
        for _ in range(2):
            with pytest.raises(StoreAway):
                store.freshen()
        until(lambda: not db.storage.is_connected(), 5, what="the end heard of")
        with pytest.raises(StoreAway):
            store.freshen()
        server.start()
        until(db.storage.is_connected, 5, what="the server heard of again")
        store.freshen()


@pytest.mark.nightly("the core list has runs that end though it was restarted")
@pytest.mark.parametrize("how", ["crashed", "stopped"])
def test_what_waits_behind_runs_goes_on_when_the_database_was_restarted(server, tmp_path, how):
    """Seen: two runs stayed `running` for good, and 299 waited behind them. Each is carried out, and none twice."""
    began = tmp_path / "began"
    with Serve(tmp_path, {"automations": {"max_running": 2}}, node="one", **server.uris()) as serve:
        text = f'echo "$OPSAPP_RUN_ID" >> {began}; sleep 0.2'
        automations = [script(serve, text, name=f"queued {n}") for n in range(4)]
        runs = [run(serve, automation) for _ in range(10) for automation in automations]
        until(began.exists, 20, what="a first run")
        server.kill() if how == "crashed" else server.stop()
        until(lambda: asked(serve.admin) == 503, 10, what="the server being missed")
        server.start()
        until(lambda: asked(serve.admin) == 200, 10, what="an answer")
        assert {ended(serve, each, 60)["status"] for each in runs} == {"done"}
        assert sorted(began.read_text().split()) == sorted(runs)


def test_without_the_extra_the_sentence_says_what_to_install(tmp_path):
    """A Python in which psycopg2 cannot be imported."""
    without = tmp_path / "without"
    without.mkdir()
    (without / "psycopg2.py").write_text("raise ModuleNotFoundError('none', name='psycopg2')\n")
    done = opsapp("init", "--store", "postgresql://h/db", "--data", tmp_path, PYTHONPATH=f"{without}:{ROOT}")
    said = f"PostgreSQL needs `pip install './opsapp-{VERSION}-py3-none-any.whl[postgresql]'`"
    assert (done.returncode, said in done.stderr) == (1, True), done
