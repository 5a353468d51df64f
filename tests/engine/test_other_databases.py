"""Of a database beside the main one a transaction asks what was committed when it first looks into it, and no sooner:
counts of questions."""

import pytest
import transaction

from opsapp.series.history import history_root


class Questions:
    """What the storages of the connections of a node are asked at the beginning of transactions, by database."""

    def __init__(self, service):
        self.asked = []
        self.service = service
        service.transact(read)  # both connections are open from here on
        place = service.node.store._free[-1]
        for name, connection in place.connection.connections.items():
            self._watch(name, connection._storage)

    def _watch(self, name, storage):
        poll = storage.poll_invalidations

        def watched():
            self.asked.append(name or "main")
            return poll()

        storage.poll_invalidations = watched

    def of(self, fn, *values):
        self.asked.clear()
        self.service.transact(fn, *values)
        return self.asked


@pytest.fixture
def questions(service):
    service.transact(lambda root: history_root(root).__setitem__("kept", 0))
    return Questions(service)


def read(root):
    return history_root(root)["kept"]


def test_a_transaction_about_the_main_database_asks_no_other_one(questions):
    assert questions.of(lambda root: root.system.get("anything")) == ["main"]
    assert questions.of(lambda root: root.system.__setitem__("moved", 1)) == ["main"]


def test_one_that_looks_into_history_asks_once_however_often_it_looks(questions):
    assert questions.of(lambda root: [read(root) for _ in range(3)]) == ["main", "history"]
    assert questions.of(lambda root: None) == ["main"], "the next one begins anew"
    assert questions.of(read) == ["main", "history"]


def test_what_was_committed_meanwhile_is_seen(questions, service):
    for value in (1, 2, 3):
        _written(service, value)
        service.transact(lambda root: None)
        assert service.transact(read) == value


def test_within_a_transaction_history_stays_as_it_was_when_it_was_looked_at_first(questions, service):
    def twice(root):
        before = read(root)
        _written(service, before + 1)
        return before, read(root)

    before, after = service.transact(twice)
    assert before == after
    assert service.transact(read) == before + 1


def test_an_attempt_that_met_a_conflict_asks_again(questions, service):
    seen = []

    def write(root):
        seen.append(read(root))
        if len(seen) == 1:
            _written(service, 10)
        history_root(root)["kept"] = seen[-1] + 1

    service.transact(write)
    assert seen == [0, 10]
    assert service.transact(read) == 11


def test_a_connection_that_nobody_uses_takes_in_both(questions, service):
    questions.asked.clear()
    service.node.store.freshen()
    assert sorted(questions.asked) == ["history", "main"]


def _written(service, value):
    """By somebody else, into the history database."""
    manager = transaction.TransactionManager(explicit=True)
    connection = service.node.store.databases["history"].open(manager)
    with manager:
        connection.root()["kept"] = value
    connection.close()
