"""The public status document on a hub: visitors share its making, and a page in a thread waits for nobody there."""

import threading
from types import SimpleNamespace

import gevent
import pytest

from opsapp.monitoring.engine import lateststatus
from opsapp.monitoring.engine.lateststatus import LatestStatus
from tests.support.clock import FakeClock
from tests.support.serving import TinyNode


class Node(TinyNode):
    def __init__(self):
        super().__init__()
        self.clock, self.committed = FakeClock(), 1

    def spawn(self, fn, *values):
        gevent.spawn(fn, *values)

    def last_transaction(self):
        return self.committed

    def transact(self, fn):
        return fn(SimpleNamespace())


@pytest.fixture
def node():
    node = Node()
    node.start_hub()
    yield node
    for lane in node.lanes.values():
        lane.close()
    node.hub.leave()


def test_who_comes_while_it_is_made_shares_the_next_and_a_thread_makes_its_own(node, monkeypatch):
    made, begun, go_on = [], threading.Semaphore(0), threading.Semaphore(0)

    def make(_node, _root):
        made.append(node.committed)
        begun.release()
        assert go_on.acquire(timeout=60)
        return {"of": node.committed}

    monkeypatch.setattr(lateststatus, "status_document", make)
    latest = LatestStatus(node)
    first = gevent.spawn(latest.now)
    while not begun.acquire(blocking=False):
        gevent.sleep(0.001)
    node.committed = 2
    others = [gevent.spawn(latest.now) for _ in range(20)]
    gevent.sleep(0)
    go_on.release(2)
    assert first.get(timeout=60).state == 1
    assert len({id(other.get(timeout=60)) for other in others}) == 1
    assert made == [1, 2]
    node.committed, seen = 3, []
    go_on.release()
    page = threading.Thread(target=lambda: seen.append(latest.now()))  # a view that shows it beside others
    page.start()
    page.join()
    assert [now.state for now in seen] == [3]
