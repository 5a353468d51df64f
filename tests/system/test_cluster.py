"""Two processes on one ZEO server, or on PostgreSQL: they see each other's writes at once, and outlive its restart."""

import contextlib
import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.automations import ended, run, script
from tests.support.checkedsite import CheckedSite
from tests.support.leases import lease_book
from tests.support.othernode import knows, signed_in_at
from tests.support.postgres import Postgres
from tests.support.process import PASSWORD, ROOT, Serve, Zeo
from tests.support.staying import StayingServe
from tests.support.together import at_once
from tests.support.waiting import until
from tests.support.writers import Writer, missing, stored, write

pytestmark = [pytest.mark.system, pytest.mark.own_store]


ENGINES = ["zeo", pytest.param("postgresql", marks=pytest.mark.nightly("the core list has ZEO"))]


def store_of(engine, place):
    return Zeo(place / "zeo") if engine == "zeo" else Postgres()


@pytest.fixture(params=ENGINES)
def store(request, tmp_path):
    """A server of its own: the tests kill it."""
    with store_of(request.param, tmp_path) as store:
        yield store


@contextlib.contextmanager
def two_nodes(tmp_path, store, kind=Serve):
    uris = store.uris()
    nodes = [kind(tmp_path / name, node=name, data=tmp_path / "data", **uris) for name in ("one", "two")]
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.end()


@pytest.fixture
def pair(tmp_path, store):
    with two_nodes(tmp_path, store) as nodes:
        yield nodes


def away(client):
    answer = client.request("GET", "/api/me")
    return answer if answer.status == 503 else None


def asks_until_seen(client, made):
    """How often a node is asked until it has a write that was answered."""
    asks = itertools.count(1)

    def seen():
        number = next(asks)
        return number if made in stored(client) else None

    return until(seen, 5, every=0, what="the other node seeing the write")


def test_what_one_writes_the_other_reads(pair):
    """It is told at once: it need not be asked again and again. How soon: `make bench`."""
    one, two = pair
    two_admin, asked = signed_in_at(two, one), []
    for number in range(20):
        asked.append(asks_until_seen(two_admin, write(one.admin, f"agent-{number}")))
    assert sorted(asked)[len(asked) // 2] < 10


def test_both_outlive_a_restart_of_the_store_under_load(pair, store):
    one, two = pair
    two_admin = signed_in_at(two, one)
    writers = [Writer(one.admin, "one"), Writer(two_admin, "two")]
    until(lambda: all(writer.answered for writer in writers), 10, what="writes through both")
    store.kill()  # nothing that was under way is held until it is back
    until(lambda: all(writer.refused for writer in writers), 15, what="503 from both while the store is away")
    for node in pair:  # and with a time to come again
        client = node.client(token=one.admin.token)
        answer = until(
            lambda client=client: away(client), 2, what="503"
        )  # a session of PostgreSQL may outlive the rest
        assert int(answer.headers["retry-after"]) > 0
    store.start()
    before = [len(writer.answered) for writer in writers]
    until(
        lambda: all(len(w.answered) > n + 10 for w, n in zip(writers, before, strict=True)), 30, what="writes going on"
    )
    for writer in writers:
        writer.end()
    for admin in (two_admin, one.admin):  # the other node's last write may be on its way for a moment
        until(lambda admin=admin: missing(admin, writers) == {}, 5, what="every answered write on both nodes")
    assert [node.stop() for node in pair] == [0, 0]


def test_nodes_share_the_login_limits(pair):
    """Twelve attempts at once from one address, half of them at each node: five are looked at, on both together. On a
    machine that does other work too a commit may wait too long: the answer is 503, and says neither whether the attempt
    was counted, nor what it was like."""
    wrong, right = ({"username": "admin", "password": password} for password in ("wrong", PASSWORD))
    unsaid = []

    def attempt(node, body):
        answer = node.client().request("POST", "/api/login", body)
        while answer.status == 503:
            unsaid.append(answer)
            answer = node.client().request("POST", "/api/login", body)
        return answer

    answers = at_once([lambda node=node: attempt(node, wrong) for node in pair * 6])
    statuses = [answer.status for answer in answers]
    assert set(statuses) == {401, 429}
    assert statuses.count(401) <= 5 <= statuses.count(401) + len(unsaid)
    assert all(0 < int(answer.headers["retry-after"]) <= 300 for answer in answers if answer.status == 429)
    assert [attempt(node, right).status for node in pair] == [429, 429]


def test_runs_of_a_node_that_is_killed_are_lost_and_none_begins_twice(pair, tmp_path):
    """Both carry out runs when one is killed: what it had under way is lost, the rest is done."""
    one, two = pair
    survivor, began = SimpleNamespace(admin=signed_in_at(two, one)), tmp_path / "began"
    text = f'echo "$OPSAPP_RUN_ID $$" >> {began}; until [ -e {tmp_path}/go ]; do sleep 0.1; done'
    asked = []

    def places():
        """Which process is which run, once all have begun."""
        rows = [line.split() for line in began.read_text().splitlines()] if began.exists() else []
        return rows if len(rows) >= len(asked) else None

    def ask(number):
        """Of either node in turn. The other one may be quicker to take it up."""
        node, automation = survivor if number % 2 else one, slow_script(number)
        knows(node.admin, f"/api/automations/{automation}")
        asked.append(run(node, automation))

    def slow_script(number):
        return script(one, text, name=f"slow {number}")

    for number in range(10):
        ask(number)
    both = {node.child.pid for node in pair}
    while {above(int(pid), both) for _, pid in until(places, 20, what="all runs under way")} != both:
        assert len(asked) < 40, "one node takes up everything"
        ask(len(asked))
    whose = {run_id: above(int(pid), both) for run_id, pid in places()}
    one.kill()
    (tmp_path / "go").touch()
    for run_id in asked:
        lost = whose[run_id] == one.child.pid
        assert ended(survivor, run_id, 60)["status"] == ("lost" if lost else "done")
    assert sorted(run_id for run_id, _ in places()) == sorted(asked)


def above(pid, nodes):
    """The node that a process comes from."""
    while pid not in nodes:
        status = Path(f"/proc/{pid}/status").read_text()
        pid = int(re.search(r"^PPid:\s*(\d+)", status, re.M)[1])
    return pid


def holder_and_other(book, pair):
    """The node that holds all leases, and the other one."""
    nodes = {node.flags["node"]: node for node in pair}
    name = until(
        lambda: next((name for name in nodes if book.all_held_by(name)), None), 20, what="one holding all leases"
    )
    return nodes.pop(name), nodes.popitem()[1]


def checked_by(admin, site):
    """Six monitors of the site, each checked by now."""
    for number in range(6):
        made = {"name": f"m{number}", "type": "http", "url": f"{site.url}/m{number}", "interval": 5}
        admin.post("/api/monitoring/endpoints", made)
    until(lambda: len(site.counts()) == 6, 20, what="a check of each")


def checks_go_on(site):
    before = site.counts()
    until(lambda: all(site.counts()[path] > times for path, times in before.items()), 15, what="checks going on")


@pytest.mark.nightly("leases and shards have tests in tests/engine")
def test_a_node_that_is_told_to_stop_hands_over_its_leases_and_checks(pair, store):
    """And nothing of it goes wrong."""
    with lease_book(pair[0].flags["store"]) as book, CheckedSite() as site:
        leaver, other = holder_and_other(book, pair)
        checked_by(signed_in_at(other, pair[0]), site)
        assert leaver.stop() == 0
        until(lambda: book.all_held_by(other.flags["node"]), 5, what="the other holding all leases")
        checks_go_on(site)
        assert "Traceback" not in leaver.log.read_text()


@pytest.mark.nightly("leases and shards have tests in tests/engine")
def test_what_a_stopping_node_hands_over_is_taken_before_it_has_ended_and_not_when_it_is_missed(tmp_path, store):
    """Nobody misses a node here. It gives everything back at the beginning of its stop, and never comes to its end."""
    with two_nodes(tmp_path, store, StayingServe) as pair, CheckedSite() as site:
        with lease_book(pair[0].flags["store"]) as book:
            leaver, other = holder_and_other(book, pair)
            checked_by(signed_in_at(other, pair[0]), site)
            leaver.child.terminate()
            until(lambda: book.all_held_by(other.flags["node"]), 20, what="the other holding all leases")
            assert leaver.running
            leaver.kill()
            checks_go_on(site)


@pytest.mark.nightly("the core list kills a node that has runs")
def test_leases_of_a_node_that_is_killed_are_taken_over(pair, store):
    """How soon, over fifty kills: make cluster."""
    with lease_book(pair[0].flags["store"]) as book:
        dead, other = holder_and_other(book, pair)
        dead.kill()
        until(lambda: book.all_held_by(other.flags["node"]), 10, what="the other holding all leases")


@pytest.mark.nightly("the core list has what one writes and the other reads")
def test_both_nodes_answer_every_question_alike(pair):
    """Whatever can be read without an id: on the node that wrote, and on the other one."""
    one, two = pair
    admin, there = one.admin, signed_in_at(two, one)
    write(admin, "a host")
    until(lambda: stored(admin) == stored(there), 5, what="the other node seeing the write")
    documented = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    paths = [path for path, ways in documented.items() if "get" in ways and "{" not in path]
    paths = [path for path in paths if "stream" not in path]
    assert len(paths) > 40
    answers = {path: (admin.request("GET", path).status, there.request("GET", path).status) for path in paths}
    assert {path: pair for path, pair in answers.items() if pair[0] != pair[1] or pair[0] >= 500} == {}
