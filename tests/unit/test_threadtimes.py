"""When a worker is held up, by numbers; and that the system's figures are of the thread that was asked about."""

import threading
import time

import pytest

from opsapp.runtime.threads.times import Progress, ThreadTimes, Times, is_held_up
from tests.support.waiting import until

IDLE = Times(0.0, 0.0, False)


@pytest.mark.parametrize(
    ("worker", "looking", "held_up"),
    [
        (IDLE, IDLE, True),  # a disk, a server far away
        (Times(0.003, 0.0, False), IDLE, False),  # it works
        (Times(0.0005, 0.0, False), IDLE, True),  # a little, between two waits
        (Times(0.0, 0.003, False), IDLE, False),  # it stood in line for a processor
        (Times(0.0, 0.0, True), IDLE, False),  # it still does
        (Times(0.0004, 0.0, False), Times(0.003, 0.0, True), False),  # who looks had the interpreter
        (Times(0.0004, 0.0, False), Times(0.0, 0.003, True), False),  # or held it, and stood in line
        (Times(0.0001, 0.0, False), Times(0.003, 0.0, True), True),  # the rest of the time would have been its own
    ],
)
def test_a_worker_is_held_up_by_what_is_no_processor(worker, looking, held_up):
    assert is_held_up(0.004, worker, looking) is held_up


def test_a_thread_that_waits_is_held_up_and_one_that_computes_is_not():
    ended, computing, rounds = threading.Event(), threading.Event(), [0]

    def work():
        computing.wait()
        while not ended.is_set():
            sum(range(1000))
            rounds[0] += 1

    worker = threading.Thread(target=work)
    worker.start()
    progress = Progress(worker, threading.current_thread())
    try:
        until(progress.is_held_up, what="a look at a thread that waits")
        computing.set()
        _many_rounds_later(rounds)
        progress.begin()
        for _ in range(5):
            _many_rounds_later(rounds)
            assert not progress.is_held_up()
    finally:
        ended.set()
        computing.set()
        worker.join()
        progress.close()


def _many_rounds_later(rounds):
    before = rounds[0]
    until(lambda: rounds[0] > before + 1000, what="a thousand rounds of the thread that computes")


def test_a_thread_is_told_what_it_used():
    times = ThreadTimes(threading.current_thread())
    before = times.now()
    while time.thread_time() < before.used + 0.02:
        pass
    now = times.now()
    times.close()
    assert now.used - before.used >= 0.02
    assert now.ready
    assert now.queued >= before.queued


def test_a_system_that_does_not_tell_who_stands_in_line(monkeypatch):
    monkeypatch.setattr("opsapp.runtime.threads.times.TASKS", "/nowhere")
    times = ThreadTimes(threading.current_thread())
    assert times.now().queued == 0.0
    assert not times.now().ready
