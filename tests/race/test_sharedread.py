"""A long read that many ask for: one at a time, once for all who ask meanwhile, and nothing short waits for it."""

import threading

import gevent
import pytest

from opsapp.runtime.threads.sharedread import SharedRead
from tests.support.serving import TinyNode


class Node(TinyNode):
    def spawn(self, fn, *values):
        gevent.spawn(fn, *values)


@pytest.fixture
def node():
    node = Node()
    node.start_hub()
    yield node
    for lane in node.lanes.values():
        lane.close()
    node.hub.leave()


def test_who_asks_meanwhile_shares_the_next_and_no_answer_is_older_than_its_question(node):
    written, begun, go_on = [1], threading.Semaphore(0), threading.Semaphore(0)

    def read():
        seen = written[-1]
        begun.release()
        assert go_on.acquire(timeout=60)
        return seen

    shared = SharedRead(node, read)
    first = gevent.spawn(shared)
    while not begun.acquire(blocking=False):
        gevent.sleep(0.001)
    written.append(2)
    others = [gevent.spawn(shared) for _ in range(100)]
    gevent.sleep(0)
    go_on.release(2)
    assert first.get(timeout=60) == 1
    assert [other.get(timeout=60) for other in others] == [2] * 100
    assert not go_on.acquire(blocking=False), "a read for each of them"
    go_on.release()
    written.append(3)
    assert shared() == 3


def test_everybody_who_asked_is_told_of_a_problem_and_the_next_read_is_a_new_one(node):
    answers = iter([ValueError("damaged"), "whole"])

    def read():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    shared = SharedRead(node, read)
    asking = [gevent.spawn(shared) for _ in range(3)]
    gevent.joinall(asking, timeout=60)
    assert [str(greenlet.exception) for greenlet in asking] == ["damaged"] * 3
    assert shared() == "whole"
