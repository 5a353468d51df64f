"""Two processes on one ZEO server: they see each other's writes at once, and both outlive a restart of the store."""

import threading
import time
from types import SimpleNamespace

import pytest

from tests.support.automations import ended, run, script
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


def test_runs_of_a_node_that_is_killed_are_lost_and_none_begins_twice(pair, tmp_path):
    """Both carry out runs when one is killed: what it had under way is lost, the rest is done."""
    one, two = pair
    survivor, began = SimpleNamespace(admin=two.client(token=one.admin.token)), tmp_path / "began"
    node = "sed -n 's/^PPid:[^0-9]*//p' /proc/$PPID/status"  # the executor's parent
    text = f'echo "$OPSAPP_RUN_ID $({node})" >> {began}; until [ -e {tmp_path}/go ]; do sleep 0.1; done'
    automations = [script(one, text, name=f"slow {n}") for n in range(10)]
    asked = [run(one if n % 2 else survivor, each) for n, each in enumerate(automations)]

    def places():
        """Which process has which run, once all have begun."""
        rows = [line.split() for line in began.read_text().splitlines()] if began.exists() else []
        return rows if len(rows) >= len(asked) else None

    whose = {run_id: int(parent) for run_id, parent in until(places, 20, every=0.02, what="all runs under way")}
    assert set(whose.values()) == {one.child.pid, two.child.pid}
    one.kill()
    (tmp_path / "go").touch()
    for run_id in asked:
        lost = whose[run_id] == one.child.pid
        assert ended(survivor, run_id, 60)["status"] == ("lost" if lost else "done")
    assert sorted(run_id for run_id, _ in places()) == sorted(asked)
