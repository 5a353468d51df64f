"""Many greenlets through few threads: every call is answered, with its own answer, whatever happens to the others."""

import contextvars
import json
import subprocess
import sys
import threading
from types import SimpleNamespace

import gevent
import pytest

from opsapp.runtime.atwork import Work, at_hand
from opsapp.runtime.events import Event, emit
from opsapp.runtime.threads.fair import Whose
from opsapp.runtime.threads.hub import Hub, Lane, LeadLane
from tests.support.waiting import patience

MARK = contextvars.ContextVar("mark", default=None)


@pytest.fixture
def hub():
    hub = Hub()
    hub.enter()
    yield hub
    hub.leave()


@pytest.fixture
def lane(hub):
    lane = Lane(hub, "test", 3)
    yield lane
    lane.close()


def test_every_call_gets_its_own_answer(lane):
    threads, all_three = set(), threading.Barrier(3)

    def double(number):
        if threading.get_ident() not in threads:
            threads.add(threading.get_ident())
            all_three.wait()  # none of them is done before each has a call
        return number * 2

    def ask(number):
        return [lane.run(double, number + each) for each in range(20)]

    asking = [gevent.spawn(ask, number * 100) for number in range(50)]
    gevent.joinall(asking)
    assert [greenlet.value for greenlet in asking] == [[2 * (n * 100 + each) for each in range(20)] for n in range(50)]
    assert len(threads) == 3
    assert threading.get_ident() not in threads


def test_a_thread_works_for_what_its_caller_works_for(lane):
    node = SimpleNamespace(trace_of=None)

    def ask(name):
        with Work(node, "case", name):
            return lane.run(lambda: at_hand().id)

    asking = [gevent.spawn(ask, name) for name in ("c1", "c2", "c3")]
    gevent.joinall(asking)
    assert [greenlet.value for greenlet in asking] == ["c1", "c2", "c3"]
    assert {lane.run(at_hand) for _ in range(9)} == {None}


def test_an_exception_reaches_the_caller_and_no_thread_dies_of_it(lane):
    for problem in (ValueError("mine"), SystemExit(3), KeyboardInterrupt()):

        def fail(problem=problem):
            raise problem

        for _ in range(5):
            with pytest.raises(type(problem)):
                lane.run(fail)
    assert lane.run(lambda: "alive") == "alive"


def test_a_greenlet_that_stops_waiting_harms_nobody(lane):
    finished = threading.Event()

    def slow():
        finished.wait()
        return "late"

    waiting = [gevent.spawn(lane.run, slow) for _ in range(6)]
    while lane.waiting() != 3:
        gevent.sleep(0.001)
    gevent.killall(waiting)
    one_more = gevent.spawn(lane.run, slow)
    while lane.waiting() != 4:
        gevent.sleep(0.001)
    gevent.kill(one_more)
    finished.set()
    assert [lane.run(int, text) for text in ("1", "2", "3")] == [1, 2, 3]


@pytest.fixture
def led(hub):
    lane = LeadLane(hub, "led", 3)
    yield lane
    lane.close()


def test_a_leader_that_gets_on_does_everything(led):
    threads = set()

    def compute(number):
        threads.add(threading.current_thread().name)
        return sum(range(number))

    asking = [gevent.spawn(led.run, compute, number) for number in range(200)]
    gevent.joinall(asking, timeout=60)
    assert [greenlet.value for greenlet in asking] == [sum(range(number)) for number in range(200)]
    assert "led-0" in threads


def test_the_others_help_while_the_leader_is_held_up(led):
    release = threading.Event()
    held = [gevent.spawn(led.run, release.wait, 60) for _ in range(2)]
    others = [gevent.spawn(led.run, int, number) for number in range(50)]
    gevent.joinall(others, timeout=60)
    assert [greenlet.value for greenlet in others] == list(range(50))
    assert not any(greenlet.dead for greenlet in held)
    release.set()
    assert [greenlet.get(timeout=60) for greenlet in held] == [True, True]


def test_the_others_help_while_the_leader_is_at_one_task_for_long(led):
    """Who reads all of a long record must not hold up who asks for a line."""
    ended = threading.Event()

    def compute():
        while not ended.is_set():
            sum(range(1000))

    long = gevent.spawn(led.run, compute)
    others = [gevent.spawn(led.run, int, number) for number in range(50)]
    gevent.joinall(others, timeout=60)
    ended.set()
    assert [greenlet.value for greenlet in others] == list(range(50))
    long.get(timeout=60)
    assert led.run(threading.current_thread).name == "led-0"


def test_a_led_lane_closes_and_opens_again(led):
    for _ in range(3):
        assert [led.run(int, text) for text in ("1", "2")] == [1, 2]
        led.close()


def test_problems_and_contexts_stay_with_their_tasks_in_a_led_lane(led):
    def mark():
        before = MARK.get()
        MARK.set("seen")
        raise KeyError(before)

    for _ in range(5):
        with pytest.raises(KeyError, match="None"):
            led.run(mark)


def test_the_hub_goes_on_while_threads_block(lane):
    release = threading.Event()
    blocked = gevent.spawn(lane.run, release.wait)
    ticks = 0
    for _ in range(20):
        gevent.sleep(0.001)
        ticks += 1
    assert not blocked.dead
    release.set()
    assert blocked.get() is True
    assert ticks == 20


def test_no_context_leaks_from_task_to_task(lane):
    def mark():
        before = MARK.get()
        MARK.set("seen")
        return before

    assert [lane.run(mark) for _ in range(9)] == [None] * 9


def test_closing_finishes_what_was_given(hub, monkeypatch):
    monkeypatch.setattr("opsapp.runtime.threads.hub.LEAVE_AFTER_S", 3600.0)
    lane, done, closing = Lane(hub, "closing", 1), [], threading.Event()

    def work(number):
        closing.wait()
        done.append(number)

    def put_and_tell(task, *whose, put=lane._tasks.put):
        put(task, *whose)
        closing.set()

    for number in range(5):
        gevent.spawn(lane.run, work, number)
    gevent.sleep(0)
    lane._tasks.put = put_and_tell
    lane.close()
    assert done == [0, 1, 2, 3, 4]
    assert lane.run(lambda: "opens again") == "opens again"
    lane.close()


def test_an_answer_after_the_hub_was_left_goes_nowhere():
    hub = Hub()
    hub.enter()
    lane, begun, release = Lane(hub, "late", 1), threading.Event(), threading.Event()
    gevent.spawn(lane.run, lambda: (begun.set(), release.wait()))
    while not begun.is_set():
        gevent.sleep(0.001)
    hub.leave()
    release.set()
    lane.close()
    told = []
    hub.post(told.append, "inline")
    assert told == ["inline"]


def test_who_asks_once_does_not_wait_behind_who_asks_a_thousand_times(hub):
    lane, order, begun, free = Lane(hub, "test", 1), [], threading.Event(), threading.Event()

    def work(name):
        if name == "first":
            begun.set()
            free.wait()
        order.append(name)

    try:
        first = gevent.spawn(lane.run, work, "first")
        while not begun.is_set():
            gevent.sleep(0.001)
        flood = [gevent.spawn(lane.run_for, Whose("strangers", n % 3), work, f"s{n}") for n in range(300)]
        gevent.sleep(0)
        people = [gevent.spawn(lane.run_for, Whose("people", name), work, name) for name in ("vera", "otto", "vera")]
        gevent.sleep(0)
        assert lane.waiting() == 303
        free.set()
        gevent.joinall([first, *flood, *people])
    finally:
        lane.close()
    assert order[0] == "first"
    assert [name for name in order if not name.startswith("s")] == ["first", "vera", "otto", "vera"]
    assert order.index("otto") <= 5
    for caller in range(3):  # what one asks is done in its order
        own = [int(name[1:]) for name in order if name.startswith("s") and int(name[1:]) % 3 == caller]
        assert own == sorted(own)
    assert len(order) == 304


def test_others_have_their_turn_while_events_are_handed_to_thousands(hub, service):
    tail, heard, turns = service.node.events, [0], [0]
    service.node.hub = hub

    def hear(_event):
        heard[0] += 1

    stops = [tail.listen(hear) for _ in range(3000)]

    def others():
        while True:
            turns[0] += 1
            gevent.sleep(0)

    other = gevent.spawn(others)
    tail._hand_on([Event(f"{n:04}", "test", {}, 0.0) for n in range(300)])
    other.kill()
    for stop in stops:
        stop()
    assert heard == [900_000]
    assert turns[0] >= 10


def test_an_event_is_written_as_text_once_for_all_who_send_it_on(service):
    service.transact(lambda root: emit(root, "test", {"text": "ä"}))
    heard = []
    stop = service.node.events.listen(heard.append)
    service.node.events.step()
    stop()
    assert [json.loads(event.text) for event in heard if event.kind == "test"] == [{"text": "ä"}]
    (again,) = [event for event in service.node.events.since("") if event.kind == "test"]
    assert (again.text, again.data) == (next(each.text for each in heard if each.kind == "test"), {"text": "ä"})


BUSY_MACHINE = """
import os, sys, threading, gevent
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for _ in range(3):
    if os.fork() == 0:
        parent = os.getppid()
        while os.getppid() == parent:
            sum(range(10_000))
        os._exit(0)
from opsapp.runtime.threads.hub import Hub, LeadLane
hub = Hub()
hub.enter()
lane, done = LeadLane(hub, "led", 4), {}
def compute():
    name = threading.current_thread().name
    done[name] = done.get(name, 0) + 1
    sum(range(10_000))
def ask():
    for _ in range(50):
        lane.run(compute)
gevent.joinall([gevent.spawn(ask) for _ in range(32)])
print(done["led-0"], sum(done.values()), flush=True)
os._exit(0)
"""


def test_a_leader_that_waits_for_a_processor_is_not_held_up():
    """Its machine has other work. Helpers would only take the interpreter from it."""
    ran = subprocess.run([sys.executable, "-c", BUSY_MACHINE], capture_output=True, text=True, timeout=60 * patience())
    by_leader, by_all = map(int, ran.stdout.split())
    assert by_all == 1600
    assert by_leader > 0.9 * by_all, ran.stderr
