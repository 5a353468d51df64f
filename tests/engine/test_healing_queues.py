"""Events and faults wait in durable queues: received once, ended when they are due, and found in older stores too."""

import pytest

from opsapp.healing.resources import healing_of
from opsapp.healing.resources.injections import Injection
from opsapp.healing.stages.messages import RequestDecided
from tests.support.app import Service


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.close()


def fault(due, ended=None):
    return Injection("container", "a1", "web-1", ("web-1/x",), "s1", "c1", "true", due=due, ended=ended)


def ids(rows):
    return [name for name, _ in rows]


def test_events_are_taken_once_in_order_and_the_writer_goes_on_where_it_was(service):
    def submit(root, *numbers):
        for number in numbers:
            healing_of(root).book.submit(root, RequestDecided(number))

    def take(root, most):
        return [row["request"] for row in healing_of(root).book.messages.take(most)]

    service.transact(submit, 1, 2, 3)
    assert service.transact(take, 2) == [1, 2]
    assert service.transact(lambda root: len(healing_of(root).book.messages)) == 1
    service.transact(submit, 4)
    assert service.transact(take, 9) == [3, 4]
    assert not service.transact(lambda root: bool(healing_of(root).book.messages))


def test_faults_are_due_by_time_and_forgotten_after_their_end(service):
    def add(root):
        injections = healing_of(root).injections
        return [injections.add(fault(due)) for due in (30.0, 10.0, 20.0)]

    late, first, second = service.transact(add)
    assert ids(service.transact(lambda root: healing_of(root).injections.due(20.0))) == [first, second]
    service.transact(lambda root: healing_of(root).injections.set(first, due=40.0))
    service.transact(lambda root: healing_of(root).injections.set(second, ended=25.0))
    assert ids(service.transact(lambda root: healing_of(root).injections.due(50.0))) == [late, first]
    service.transact(lambda root: healing_of(root).injections.forget(26.0))
    assert service.transact(lambda root: sorted(healing_of(root).injections.rows)) == sorted([late, first])
