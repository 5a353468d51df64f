"""Steps that find nothing are passed over until there can be something; a count of looks, not of seconds."""

import gevent
import pytest

from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.looks import AHEAD_S, QueueLook
from opsapp.runtime.threads.supervisor import PULSE_S, Supervisor
from opsapp.runtime.wakes import after_commit


class Queue:
    """Something that falls due, and a step that looks for it."""

    def __init__(self, node):
        self.node, self.due, self.asked, self.steps = node, float("inf"), 0, 0
        self.look = QueueLook(node, self.anything)

    def anything(self, _root, now):
        self.asked += 1
        return self.due <= now

    def step(self):
        self.steps += 1
        return False

    def turn(self):
        """What the supervisor does when the step is due and nobody has woken it."""
        if not self.look.is_still():
            self.look.begin()
            self.step()
            self.look.found_nothing()


@pytest.fixture
def queue(service):
    return Queue(service.node)


def commit(service):
    service.transact(lambda root: root.system.__setitem__("moved", service.clock.now()))


def test_a_step_that_found_nothing_twice_looks_no_more_while_nothing_is_committed(queue, service):
    for _ in range(10):
        queue.turn()
    assert (queue.steps, queue.asked) == (2, 1)


def test_a_commit_lets_it_look_again(queue, service):
    for _ in range(5):
        queue.turn()
    commit(service)
    queue.turn()
    assert queue.steps == 3


def test_a_commit_while_the_step_looks_is_not_overlooked(queue, service):
    queue.turn()
    queue.look.begin()
    commit(service)
    queue.look.found_nothing()
    assert not queue.look.is_still()


@pytest.mark.parametrize(("due_in", "still"), [(AHEAD_S - 1, False), (AHEAD_S + 1, True)])
def test_what_falls_due_soon_is_waited_for_awake(queue, service, due_in, still):
    queue.due = service.clock.now() + due_in
    for _ in range(3):
        queue.turn()
    assert queue.look.is_still() is still


@pytest.mark.parametrize("seconds", [AHEAD_S, 3600, -1])
def test_a_no_holds_for_the_time_that_it_was_given_for(queue, service, seconds):
    for _ in range(3):
        queue.turn()
    service.clock.advance(seconds)
    assert not queue.look.is_still()


def test_on_a_store_of_several_processes_each_step_looks(queue, service):
    service.node.exclusive = False
    for _ in range(10):
        queue.turn()
    assert (queue.steps, queue.asked) == (10, 0)


def test_who_is_woken_by_a_commit_sees_that_the_store_has_changed(service):
    """The wake-up comes before the commit has returned. A step that compares states then must not find the old one."""
    node, seen = service.node, []
    before = node.state()

    def change(root):
        root.system["moved"] = service.clock.now()
        after_commit(root, lambda: seen.append(node.state()))

    service.transact(change)
    assert len(seen) == 1
    assert seen[0] is not before


class StillQueue:
    """A look that says what the test wants."""

    def __init__(self):
        self.still = False

    def begin(self):
        pass

    def found_nothing(self):
        pass

    def is_still(self):
        return self.still


@pytest.fixture
def running():
    made = Supervisor(Clock())
    yield made
    made.stop()


def test_steps_that_are_due_begin_with_one_pulse(running):
    began = []
    for name, every in (("a", PULSE_S), ("b", 2 * PULSE_S), ("c", 2 * PULSE_S)):
        running.add(name, lambda name=name: began.append(name), every=every)
    running.start()
    gevent.sleep(0)
    assert began == ["a", "b", "c"], "the first at once"
    began.clear()
    for worker in running.workers.values():
        worker.pulse(worker._due)
    gevent.sleep(0)
    gevent.sleep(0)
    assert began == ["a", "b", "c"]


def test_a_step_for_which_there_is_nothing_is_passed_over_and_is_not_late(running):
    steps, look = [], StillQueue()
    worker = running.add("a", lambda: steps.append(1), every=PULSE_S, look=look)
    running.start()
    gevent.sleep(0)
    look.still = True
    before = worker.last_step
    for _ in range(4):
        worker.pulse(worker._due)
    gevent.sleep(0)
    assert len(steps) == 1
    assert worker.last_step > before, "it is as good as if it had looked"


def test_who_is_woken_steps_whatever_the_look_says(running):
    steps, look = [], StillQueue()
    look.still = True
    running.add("a", lambda: steps.append(1), every=3600.0, wake=("queue",), look=look)
    running.start()
    gevent.sleep(0)
    running.wake("queue")
    gevent.sleep(0)
    gevent.sleep(0)
    assert len(steps) == 2


def test_nothing_is_wanted_of_a_pulse_between_two_steps(running):
    steps = []
    worker = running.add("a", lambda: steps.append(1), every=3600.0)
    running.start()
    gevent.sleep(0)
    worker.pulse(worker._due - 2 * PULSE_S)
    gevent.sleep(0)
    assert len(steps) == 1
