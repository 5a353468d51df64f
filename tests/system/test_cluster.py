"""Two processes on one ZEO server: they see each other's writes at once, and both outlive a restart of the store."""
import threading
import time

import pytest

from tests.support.process import PASSWORD, Serve, Zeo
from tests.support.waiting import until
from tests.support.writers import Writer, missing, stored, write

pytestmark = pytest.mark.system


@pytest.fixture
def zeo(tmp_path):
    with Zeo(tmp_path / "zeo") as zeo:
        yield zeo


@pytest.fixture
def pair(tmp_path, zeo):
    nodes = [Serve(tmp_path / name, node=name, data=tmp_path / "data", **zeo.uris()) for name in ("one", "two")]
    for node in nodes:
        node.start()
    yield nodes
    for node in nodes:
        node.end()


def test_what_one_writes_the_other_reads(pair):
    one, two = pair
    two_admin = two.client(token=one.admin.token)  # a session is good on every node
    late = []
    for number in range(20):
        made = write(one.admin, f"agent-{number}")
        began = time.monotonic()
        until(lambda made=made: made in stored(two_admin), 5, every=0.005, what="the other node seeing the write")
        late.append(time.monotonic() - began)
    assert sorted(late)[len(late) // 2] < 0.1


def test_both_outlive_a_restart_of_the_store_under_load(pair, zeo):
    one, two = pair
    two_admin = two.client(token=one.admin.token)
    writers = [Writer(one.admin, "one"), Writer(two_admin, "two")]
    until(lambda: all(writer.answered for writer in writers), 10, what="writes through both")
    zeo.kill()
    began = time.monotonic()
    until(lambda: all(writer.refused for writer in writers), 15, what="503 from both while the store is away")
    assert time.monotonic() - began < 10, "a request that was under way was held"
    for node in pair:  # at once, and with a time to come again
        began = time.monotonic()
        answer = node.client(token=one.admin.token, timeout=5).request("GET", "/api/me")
        assert time.monotonic() - began < 2
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) > 0
    zeo.start()
    before = [len(writer.answered) for writer in writers]
    until(lambda: all(len(w.answered) > n for w, n in zip(writers, before, strict=True)), 30, what="writes going on")
    threading.Event().wait(0.5)
    for writer in writers:
        writer.end()
    for admin in (two_admin, one.admin):  # the other node's last write may be on its way for a moment
        until(lambda admin=admin: missing(admin, writers) == {}, 5, what="every answered write on both nodes")
    assert [node.stop() for node in pair] == [0, 0]


def test_nodes_share_the_login_limits(pair):
    """Twelve attempts at once from one address, half of them at each node: five are looked at, on both together."""
    answers = []

    def attempt(node):
        body = {"username": "admin", "password": "wrong"}
        answers.append(node.client(timeout=30).request("POST", "/api/login", body))

    threads = [threading.Thread(target=attempt, args=(pair[n % 2],)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 7
    assert all(0 < int(answer.headers["retry-after"]) <= 300 for answer in answers if answer.status == 429)
    right = {"username": "admin", "password": PASSWORD}
    assert [node.client().request("POST", "/api/login", right).status for node in pair] == [429, 429]
