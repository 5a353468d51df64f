"""Two processes on one ZEO server, or on PostgreSQL: they see each other's writes at once, and outlive its restart."""

import json
import threading
import time
from types import SimpleNamespace

import pytest

from tests.support.automations import ended, run, script
from tests.support.checkedsite import CheckedSite
from tests.support.leases import lease_book
from tests.support.postgres import Postgres
from tests.support.process import PASSWORD, ROOT, Serve, Zeo
from tests.support.waiting import until
from tests.support.writers import Writer, missing, stored, write

pytestmark = [pytest.mark.system, pytest.mark.own_store]


@pytest.fixture(params=["zeo", "postgresql"])
def store(request, tmp_path):
    """A server of its own: the tests kill it."""
    with Zeo(tmp_path / "zeo") if request.param == "zeo" else Postgres() as store:
        yield store


@pytest.fixture
def pair(tmp_path, store):
    uris = store.uris()
    nodes = [Serve(tmp_path / name, node=name, data=tmp_path / "data", **uris) for name in ("one", "two")]
    for node in nodes:
        node.start()
    yield nodes
    for node in nodes:
        node.end()


def away(client):
    answer = client.request("GET", "/api/me")
    return answer if answer.status == 503 else None


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


def test_both_outlive_a_restart_of_the_store_under_load(pair, store):
    one, two = pair
    two_admin = two.client(token=one.admin.token)
    writers = [Writer(one.admin, "one"), Writer(two_admin, "two")]
    until(lambda: all(writer.answered for writer in writers), 10, what="writes through both")
    store.kill()
    began = time.monotonic()
    until(lambda: all(writer.refused for writer in writers), 15, what="503 from both while the store is away")
    assert time.monotonic() - began < 10, "a request that was under way was held"
    for node in pair:  # at once, and with a time to come again
        began, client = time.monotonic(), node.client(token=one.admin.token, timeout=5)
        answer = until(
            lambda client=client: away(client), 2, what="503"
        )  # a session of PostgreSQL may outlive the rest
        assert time.monotonic() - began < 2
        assert int(answer.headers["retry-after"]) > 0
    store.start()
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
        answer = node.client(timeout=30).request("POST", "/api/login", body)
        while answer.status == 503:  # the machine does other work: its commit waited too long, nothing was counted
            answer = node.client(timeout=30).request("POST", "/api/login", body)
        answers.append(answer)

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


def holder_and_other(book, pair):
    """The node that holds all leases, and the other one."""
    nodes = {node.flags["node"]: node for node in pair}
    name = until(
        lambda: next((name for name in nodes if book.all_held_by(name)), None), 20, what="one holding all leases"
    )
    return nodes.pop(name), nodes.popitem()[1]


def test_a_node_that_is_told_to_stop_hands_over_its_leases_and_checks_at_once(pair, store):
    """Not when they are missed five seconds later; and nothing of it goes wrong."""
    with lease_book(pair[0].flags["store"]) as book, CheckedSite() as site:
        token = pair[0].admin.token
        leaver, other = holder_and_other(book, pair)
        admin = other.client(token=token)
        for n in range(6):
            made = {"name": f"m{n}", "type": "http", "url": f"{site.url}/m{n}", "interval": 5}
            admin.post("/api/monitoring/endpoints", made, expect=201)
        until(lambda: len(site.counts()) == 6, 20, what="a check of each")
        began = time.monotonic()
        leaver.child.terminate()
        until(lambda: book.all_held_by(other.flags["node"]), 5, what="the other holding all leases")
        assert time.monotonic() - began < 2
        assert leaver.child.wait(10) == 0
        before = site.counts()
        until(lambda: all(site.counts()[path] > times for path, times in before.items()), 15, what="checks going on")
        assert "Traceback" not in leaver.log.read_text()


def test_leases_of_a_node_that_is_killed_are_taken_over_within_ten_seconds(pair, store):
    """Counts over fifty kills: make cluster."""
    with lease_book(pair[0].flags["store"]) as book:
        dead, other = holder_and_other(book, pair)
        dead.kill()
        began = time.monotonic()
        until(lambda: book.all_held_by(other.flags["node"]), 10, what="the other holding all leases")
        assert time.monotonic() - began < 10


def test_both_nodes_answer_every_question_alike(pair):
    """Whatever can be read without an id: on the node that wrote, and on the other one."""
    one, two = pair
    admin, there = one.admin, two.client(token=one.admin.token)
    write(admin, "a host")
    until(lambda: stored(admin) == stored(there), 5, what="the other node seeing the write")
    documented = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    paths = [path for path, ways in documented.items() if "get" in ways and "{" not in path]
    paths = [path for path in paths if "stream" not in path]
    assert len(paths) > 40
    answers = {path: (admin.request("GET", path).status, there.request("GET", path).status) for path in paths}
    assert {path: pair for path, pair in answers.items() if pair[0] != pair[1] or pair[0] >= 500} == {}
