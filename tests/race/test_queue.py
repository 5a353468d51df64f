"""Durable queues over a real store: a process dies at any step, two reach for the same, the store is away."""

import multiprocessing
import os

import pytest
import transaction
from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent.mapping import PersistentMapping
from ZODB.POSException import ConflictError

from opsapp.lib.problems import OutcomeUnknown, StoreAway
from opsapp.runtime import queue
from opsapp.runtime.queue import Agenda, Claims, Inbox, until_stored
from tests.support.stores import Stores


class Work:
    """A queue as a room has it: what is due, who has it, what ended."""

    def __init__(self, root):
        self.waiting, self.ended = Agenda(root["waiting"]), Agenda(root["ended"])
        self.claims = Claims(root["claims"])

    def state(self):
        waiting = [name for _, name in self.waiting.rows]
        return sorted(waiting), dict(self.claims.owners), [name for _, name in self.ended.rows]


def set_up(root):
    root["waiting"], root["ended"], root["claims"] = OOTreeSet(), OOTreeSet(), OOBTree()


def put(root, name="a", due=1.0):
    Work(root).waiting.add(due, name)


def claim(root, owner, now=5.0):
    work = Work(root)
    taken = [name for _, name in work.waiting.take(now, 1)]
    for name in taken:
        work.claims.claim(name, owner)
    return taken


def end(root, name, now=9.0):
    work = Work(root)
    work.claims.release(name)
    work.ended.add(now, name)


def recover(root, alive):
    left = Work(root).claims.abandoned(alive)
    for name in left:
        end(root, name)
    return left


@pytest.fixture
def stores(tmp_path):
    stores = Stores(tmp_path)
    stores.transact(set_up)
    yield stores
    stores.close()


def killed_at(directory, step, committed):
    """A process that does these steps, and is gone before or after the commit of one of them."""
    stores = Stores(directory)
    for name, fn, values in (("put", put, ()), ("claim", claim, ("one:1",)), ("end", end, ("a",))):
        with stores.begin() as root:
            fn(root, *values)
            if name == step and not committed:
                os._exit(9)
        if name == step:
            os._exit(9)


@pytest.mark.parametrize(
    ("step", "committed", "expected"),
    [
        ("put", False, ([], {}, [])),
        ("put", True, (["a"], {}, [])),
        ("claim", False, (["a"], {}, [])),
        ("claim", True, ([], {"a": "one:1"}, [])),
        ("end", False, ([], {"a": "one:1"}, [])),
        ("end", True, ([], {}, ["a"])),
    ],
)
def test_whoever_dies_between_two_steps_leaves_the_work_in_one_place(tmp_path, step, committed, expected):
    stores = Stores(tmp_path)
    stores.transact(set_up)
    stores.close()
    child = multiprocessing.get_context("fork").Process(target=killed_at, args=(tmp_path, step, committed))
    child.start()
    child.join()
    assert child.exitcode == 9
    stores = Stores(tmp_path)
    try:
        assert stores.transact(lambda root: Work(root).state()) == expected
        assert stores.transact(lambda root: Work(root).claims.of("one:1")) == list(expected[1])
        assert stores.transact(recover, {"one:1"}) == []  # it is alive
        assert stores.transact(recover, {"two:1"}) == list(expected[1])
        assert stores.transact(recover, {"two:1"}) == []  # once
    finally:
        stores.close()


def test_two_that_reach_for_the_same_get_it_once(stores):
    stores.transact(put)
    managers = [transaction.TransactionManager(explicit=True) for _ in range(2)]
    roots = []
    for manager in managers:
        manager.begin()
        roots.append(stores.main.open(manager).root())
    assert [claim(root, f"{n}:1") for n, root in enumerate(roots)] == [["a"], ["a"]]
    managers[0].commit()
    with pytest.raises(ConflictError):
        managers[1].commit()
    managers[1].abort()
    managers[1].begin()
    assert claim(roots[1], "1:1") == []
    managers[1].abort()
    assert stores.transact(lambda root: Work(root).state()) == ([], {"a": "0:1"}, [])
    for root in roots:
        root._p_jar.close()


def test_only_what_is_due_is_found_the_earliest_first_and_a_page_at_a_time(stores):
    for n in range(9):
        stores.transact(put, f"{n}", 10.0 - n)
    due = stores.transact(lambda root: Work(root).waiting.due(6.0, 3))
    assert due == [(2.0, "8"), (3.0, "7"), (4.0, "6")]
    assert stores.transact(lambda root: Work(root).waiting.take(6.0, 3)) == due
    assert stores.transact(lambda root: Work(root).waiting.due(6.0)) == [(5.0, "5"), (6.0, "4")]
    assert stores.transact(lambda root: Work(root).waiting.due(6.0, -1)) == []

    def drop(root):
        waiting = Work(root).waiting
        for _ in range(2):
            waiting.discard(5.0, "5")
        return bool(waiting), waiting.due(5.5)

    assert stores.transact(drop) == (True, [])


def test_rows_of_many_writers_are_taken_once(stores):
    stores.transact(lambda root: root.update(trees=OOBTree(), taken=PersistentMapping()))

    def inbox(root):
        return Inbox(root["trees"], root["taken"])

    for n in range(3):
        for writer in "ab":
            stores.transact(lambda root, n=n, writer=writer: inbox(root).put(writer, f"{writer}{n}"))
    assert stores.transact(lambda root: (bool(inbox(root)), list(inbox(root)))) == (
        True,
        ["a0", "a1", "a2", "b0", "b1", "b2"],
    )
    assert stores.transact(lambda root: inbox(root).take(4)) == ["a0", "a1", "a2", "b0"]
    assert stores.transact(lambda root: list(inbox(root))) == ["b1", "b2"]
    assert stores.transact(lambda root: inbox(root).take(4)) == ["b1", "b2"]
    assert stores.transact(lambda root: (bool(inbox(root)), inbox(root).take(4))) == (False, [])
    stores.transact(lambda root: inbox(root).put("a", "a3"))
    assert stores.transact(lambda root: inbox(root).take(4)) == ["a3"]


def test_writers_of_an_inbox_do_not_conflict(stores):
    stores.transact(lambda root: root.update(trees=OOBTree(), taken=PersistentMapping()))
    for writer in "ab":
        stores.transact(lambda root, writer=writer: Inbox(root["trees"], root["taken"]).put(writer, 0))
    with stores.begin() as one, stores.begin() as other:
        Inbox(one["trees"], one["taken"]).put("a", 1)
        Inbox(other["trees"], other["taken"]).put("b", 1)
    assert len(stores.transact(lambda root: list(Inbox(root["trees"], root["taken"])))) == 4


@pytest.fixture
def node(service, monkeypatch):
    """On its hub, where a greenlet can wait."""
    monkeypatch.setattr(queue, "AGAIN_S", 0.0)
    service.node.hub.enter()
    yield service.node
    service.node.hub.leave()


def store(root, value):
    root.system["value"] = value
    return value


def test_an_outcome_waits_until_the_store_is_back(node, monkeypatch, caplog):
    away = iter([True, True, False])
    monkeypatch.setattr(node.store.db.storage, "is_connected", lambda: not next(away, False), raising=False)
    assert until_stored(node, store, 7) == 7
    assert node.transact(lambda root: root.system["value"]) == 7
    assert any("waits for the store" in record.message for record in caplog.records)


def test_a_commit_that_broke_off_is_run_again(node, monkeypatch):
    real, broken = node.store.transact, iter([OutcomeUnknown()])

    def transact(fn, values):
        answer = real(fn, values)
        for problem in broken:
            raise problem
        return answer

    monkeypatch.setattr(node.store, "transact", transact)
    assert until_stored(node, store, 8) == 8


def test_whoever_waits_hears_of_it_and_may_give_up(node, monkeypatch):
    monkeypatch.setattr(node.store.db.storage, "is_connected", lambda: False, raising=False)
    heard = []

    def waits(problem):
        heard.append(problem)
        if len(heard) == 3:
            raise EOFError

    with pytest.raises(EOFError):
        until_stored(node, store, 9, waits=waits)
    assert [type(problem) for problem in heard] == [StoreAway] * 3


def test_a_thread_does_not_wait(service, monkeypatch):
    monkeypatch.setattr(service.node.store.db.storage, "is_connected", lambda: False, raising=False)
    with pytest.raises(StoreAway):
        until_stored(service.node, store, 1)
