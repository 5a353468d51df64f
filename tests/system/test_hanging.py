"""A node that stands still, perhaps in the middle of a commit, and a store that does: the others go on."""

import contextlib
import itertools
import os
import random
import signal
import socket
import time

import pytest
import zodburi
from persistent.mapping import PersistentMapping
from ZEO.Exceptions import ClientDisconnected
from ZODB import DB

from opsapp.runtime.store.transactions import Store, is_connected
from tests.support.othernode import signed_in_at
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.stores import stands_still
from tests.support.waiting import until
from tests.support.writers import Writer, missing

pytestmark = [pytest.mark.system, pytest.mark.own_store]

ROUNDS = 2
PACE_S = 0.01  # of six writers, from write to write: half of the time a commit is under way
READS = 100  # of the other node, while one stands still


@pytest.fixture(params=["zeo", pytest.param("postgresql", marks=pytest.mark.nightly("the core list has ZEO"))])
def store(request, tmp_path):
    with Zeo(tmp_path / "zeo", cuts=True) if request.param == "zeo" else Postgres() as store:
        yield store


@contextlib.contextmanager
def stopped(process):
    os.kill(process.child.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.child.pid, signal.SIGCONT)


def go_on(reader, writers):
    """So many reads are answered well, and writes are. Both by the time that whoever stands still is let go: that is
    after this."""
    before, reads = sum(len(writer.answered) for writer in writers), itertools.count(1)

    def both():
        assert reader.request("GET", "/api/me").status == 200
        return next(reads) >= READS and sum(len(writer.answered) for writer in writers) > before

    until(both, 20, every=0, what=f"{READS} reads and a write while another node stands still")


def freeze_again_and_again(tmp_path, store, rounds, seed):
    """How long a read takes meanwhile: make cluster."""
    uris, chance = store.uris(), random.Random(seed)
    with contextlib.ExitStack() as nodes:
        one, two = [
            nodes.enter_context(Serve(tmp_path / name, node=name, data=tmp_path / "data", **uris))
            for name in ("one", "two")
        ]
        token = one.admin.token
        reader = signed_in_at(two, one)
        through_one = [Writer(one.client(token=token), f"one-{n}", PACE_S) for n in range(3)]
        through_two = [Writer(two.client(token=token), f"two-{n}", PACE_S) for n in range(3)]
        for _ in range(rounds):
            until(lambda: all(writer.answered for writer in through_one + through_two), 20, what="writes through both")
            time.sleep(chance.uniform(0, 0.3))  # the seeded point of the stop: anywhere in a commit
            with stopped(one):
                go_on(reader, through_two)
            thawed = [len(writer.answered) for writer in through_one]
            until(
                lambda thawed=thawed: sum(len(w.answered) for w in through_one) > sum(thawed), 10, what="itself again"
            )
        for writer in through_one + through_two:
            writer.end()
        until(lambda: missing(reader, through_one + through_two) == {}, 5, what="every answered write")


def test_a_node_that_stands_still_holds_up_no_reader_and_writers_until_it_is_cut_off(tmp_path, store):
    freeze_again_and_again(tmp_path, store, ROUNDS, seed=3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_node_that_stands_still_fifty_times(tmp_path, store):
    freeze_again_and_again(tmp_path, store, 50, seed=random.randrange(1 << 32))


def test_a_zeo_server_that_stands_still_is_away_while_it_does(tmp_path):
    """PostgreSQL: tests/system/test_postgresql.py. How soon that is known: tests/unit/test_zeowatch.py; that nothing is
    waited for once it is: tests/race/test_transact.py."""
    with Zeo(tmp_path / "zeo") as zeo, Serve(tmp_path / "serve", node="one", **zeo.uris()) as serve:
        writers = [Writer(serve.client(token=serve.admin.token), f"writer-{n}") for n in range(3)]
        until(lambda: all(writer.answered for writer in writers), 10, what="writes")
        reader = serve.client(token=serve.admin.token)
        with stopped(zeo):
            until(lambda: reader.request("GET", "/api/me").status == 503, 10, what="503")
            said = "the store's server does not answer"  # among what each step that fails meanwhile writes
            until(lambda: said in serve.tail(10_000_000), 10, what="the log")
            assert {reader.request("GET", "/api/me").status for _ in range(20)} == {503}
            until(lambda: all(writer.refused for writer in writers), 10, what="writes refused")
        before = [len(writer.answered) for writer in writers]
        until(lambda: all(len(w.answered) > n for w, n in zip(writers, before, strict=True)), 10, what="writes again")
        for writer in writers:
            writer.end()
        until(lambda: missing(reader, writers) == {}, 5, what="every answered write")


def seen(db):
    """The names at the root, as this client knows them."""
    with db.transaction() as connection:
        return set(connection.root())


def test_a_connection_on_which_a_zeo_server_never_says_a_word_is_given_up(tmp_path):
    """As one that a client made with a server that died in that moment: nobody answers on it, and nobody ends it."""
    with Zeo(tmp_path / "zeo") as zeo, contextlib.ExitStack() as clients:
        factory, options = zodburi.resolve_uri(zeo.uris()["store"] + "&wait_timeout=5")
        store = clients.enter_context(contextlib.closing(Store({"": DB(factory(), **options)})))
        zeo.kill()
        with socket.create_server((zeo.host, zeo.port)) as dying:
            silent = clients.enter_context(dying.accept()[0])
        zeo.start()
        until(lambda: is_connected(store.db), 20, what="another connection")
        assert silent.recv(1) == b""


def test_who_holds_the_lock_of_a_commit_too_long_loses_it(tmp_path):
    """Between the vote and the end of a commit, on ZEO: another's commit goes through once it is cut off, and before
    the one that stands still goes on."""
    with Zeo(tmp_path / "zeo", cuts=True, held=3) as zeo, contextlib.ExitStack() as clients:
        uri = zeo.uris()["store"] + "&wait_timeout=60"
        one, two = (clients.enter_context(contextlib.closing(DB(zodburi.resolve_uri(uri)[0]()))) for _ in range(2))
        with one.transaction() as connection:
            connection.root()["shared"] = PersistentMapping()
        until(lambda: "shared" in seen(two), what="the other client hearing of the commit")
        stuck, held = stands_still(one)
        assert "cut off" not in zeo.tail()
        with two.transaction() as connection:
            connection.root()["shared"]["by"] = "another"
        assert "cut off" in zeo.tail()
        with pytest.raises(ClientDisconnected):
            stuck.tpc_finish(held)
        stuck.tpc_abort(held)
        stuck.close()
