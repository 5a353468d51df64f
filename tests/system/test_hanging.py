"""A node that stands still, perhaps in the middle of a commit, and a store that does: the others go on."""

import contextlib
import os
import random
import signal
import time

import pytest
import zodburi
from persistent.mapping import PersistentMapping
from ZEO.Exceptions import ClientDisconnected
from ZODB import DB

from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.stores import stands_still
from tests.support.waiting import patience, until
from tests.support.writers import Writer, missing

pytestmark = [pytest.mark.system, pytest.mark.own_store]

ROUNDS = 2
CUT_OFF_S = 5


@pytest.fixture(params=["zeo", "postgresql"])
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


def freeze_again_and_again(tmp_path, store, rounds, seed):
    """The slowest read on the other node while one stood still, over all rounds."""
    uris, chance, slowest = store.uris(), random.Random(seed), 0.0
    with contextlib.ExitStack() as nodes:
        one, two = [
            nodes.enter_context(Serve(tmp_path / name, node=name, data=tmp_path / "data", **uris))
            for name in ("one", "two")
        ]
        token = one.admin.token
        reader = two.client(token=token, timeout=20)
        through_one = [Writer(one.client(token=token, timeout=40), f"one-{n}") for n in range(3)]
        through_two = [Writer(two.client(token=token, timeout=40), f"two-{n}") for n in range(3)]
        for _ in range(rounds):
            until(lambda: all(writer.answered for writer in through_one + through_two), 20, what="writes through both")
            time.sleep(chance.uniform(0, 0.3))  # anywhere in a commit
            with stopped(one):
                began, before = time.monotonic(), [len(writer.answered) for writer in through_two]
                while time.monotonic() - began < CUT_OFF_S + 2:
                    asked = time.monotonic()
                    assert reader.request("GET", "/api/me").status == 200
                    slowest = max(slowest, time.monotonic() - asked)
                until(lambda before=before: sum(len(w.answered) for w in through_two) > sum(before), 3, what="writes")
            thawed = [len(writer.answered) for writer in through_one]
            until(
                lambda thawed=thawed: sum(len(w.answered) for w in through_one) > sum(thawed), 10, what="itself again"
            )
        for writer in through_one + through_two:
            writer.end()
        until(lambda: missing(reader, through_one + through_two) == {}, 5, what="every answered write")
    return slowest


@pytest.mark.alone
@pytest.mark.timeout(180)
def test_a_node_that_stands_still_holds_up_no_reader_and_writers_for_seconds(tmp_path, store):
    assert freeze_again_and_again(tmp_path, store, ROUNDS, seed=3) < 2.5


@pytest.mark.soak
def test_a_node_that_stands_still_fifty_times(tmp_path, store):
    assert freeze_again_and_again(tmp_path, store, 50, seed=random.randrange(1 << 32)) < 2.5


def test_a_zeo_server_that_stands_still_is_away_within_two_seconds(tmp_path):
    """PostgreSQL: tests/system/test_postgresql.py."""
    with Zeo(tmp_path / "zeo") as zeo, Serve(tmp_path / "serve", node="one", **zeo.uris()) as serve:
        writers = [Writer(serve.client(token=serve.admin.token, timeout=20), f"writer-{n}") for n in range(3)]
        until(lambda: all(writer.answered for writer in writers), 10, what="writes")
        reader = serve.client(token=serve.admin.token, timeout=20)
        with stopped(zeo):
            began = time.monotonic()
            until(lambda: reader.request("GET", "/api/me").status == 503, 10, what="503")
            assert time.monotonic() - began < 2
            asked = time.monotonic()
            assert reader.request("GET", "/api/me").status == 503
            assert time.monotonic() - asked < 0.5
        began, before = time.monotonic(), [len(writer.answered) for writer in writers]
        until(lambda: all(len(w.answered) > n for w, n in zip(writers, before, strict=True)), 10, what="writes again")
        for writer in writers:
            writer.end()
        until(lambda: missing(reader, writers) == {}, 5, what="every answered write")


def seen(db):
    """The names at the root, as this client knows them."""
    with db.transaction() as connection:
        return set(connection.root())


def test_who_holds_the_lock_of_a_commit_too_long_loses_it(tmp_path):
    """Between the vote and the end of a commit, on ZEO: another's commit goes through once it is cut off."""
    with Zeo(tmp_path / "zeo", cuts=True, held=1) as zeo, contextlib.ExitStack() as clients:
        uri = zeo.uris()["store"] + "&wait_timeout=5"
        one, two = (clients.enter_context(contextlib.closing(DB(zodburi.resolve_uri(uri)[0]()))) for _ in range(2))
        with one.transaction() as connection:
            connection.root()["shared"] = PersistentMapping()
        until(lambda: "shared" in seen(two), what="the other client hearing of the commit")
        stuck, held = stands_still(one)
        began = time.monotonic()
        with two.transaction() as connection:
            connection.root()["shared"]["by"] = "another"
        assert 0.5 < time.monotonic() - began < 5 * patience()
        with pytest.raises(ClientDisconnected):
            stuck.tpc_finish(held)
        stuck.tpc_abort(held)
        stuck.close()
        assert "cut off" in zeo.tail()
