"""Two nodes write while two fold, merge and seal at once, as after a takeover: every row is there, once."""

import threading
from types import SimpleNamespace

import pytest

from opsapp.series import recent as module
from opsapp.series.observations import UP
from opsapp.series.recent import Recent
from opsapp.series.rollup import DAY
from tests.support.measuring import Measuring
from tests.support.stores import Stores
from tests.support.waiting import until

BASE = 19_700 * DAY
STEP = 300_000
ROUNDS = 320  # a day and some hours


@pytest.fixture
def stores(tmp_path):
    stores = Stores(tmp_path)
    yield stores
    stores.close()


def test_writers_and_folders_at_once_lose_and_double_nothing(stores):
    # Conflicts are what is looked for: the more attempts, the more of them are survived.
    retrying = stores.transact
    stores.transact = lambda fn, *values: retrying(fn, *values, tries=50)
    clock, problems = [BASE], []
    gate = threading.Barrier(4, action=lambda: clock.append(clock[-1] + STEP))

    def write(node, number):
        store = Measuring(stores, node)
        for _ in range(ROUNDS):
            gate.wait()
            store.journal.add(number, clock[-1] + number, float(number), UP, 400)
            store.commit(clock[-1])

    def fold(node):
        store = Measuring(stores, node)
        for _ in range(ROUNDS):
            gate.wait()
            store.settle(clock[-1])

    def guarded(fn, *values):
        try:
            fn(*values)
        except BaseException as problem:
            problems.append(problem)
            gate.abort()

    work = [(write, "n1", 1), (write, "n2", 70), (fold, "n3"), (fold, "n4")]
    threads = [threading.Thread(target=guarded, args=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    now = clock[-1] + STEP
    store = Measuring(stores, "reader")
    for _ in range(2):
        for number in (1, 70):
            rows = store.read(lambda reading, number=number: reading.rows(number, BASE, now))
            assert [row.time for row in rows] == [at + number for at in clock[1:]]
        totals = store.read(lambda reading: reading.totals(BASE, now, [1, 70]))
        assert {number: total.checks for number, total in totals.items()} == {1: ROUNDS, 70: ROUNDS}
        store.settle(now + DAY)
    assert store.store(lambda history: [day.sealed for day in history.days.values()]) == [True, True]


def test_who_reads_what_is_in_memory_does_not_wait_for_who_reads_the_store(monkeypatch):
    """A store far away may take seconds, and the hub reads too."""
    recent, begun, ended = Recent(), threading.Event(), threading.Event()

    def slow(mapping):
        begun.set()
        ended.wait()
        return SimpleNamespace(logs={})

    monkeypatch.setattr(module, "open_history", slow)
    reader = threading.Thread(target=recent.catch_up, args=(None,))
    reader.start()
    assert begun.wait(60)
    told = threading.Thread(target=lambda: (recent.news(), recent.last(1), recent.rows(1, 0, 10)), daemon=True)
    told.start()
    try:
        until(lambda: not told.is_alive(), what="what is in memory, while the other one reads")
    finally:
        ended.set()
        reader.join()


def test_rows_are_there_while_their_generation_is_closed():
    recent, missed, ended = Recent(), [], threading.Event()
    recent._current().take("log", 1, [(7, 1000, 2.5, UP, 60)])

    def read():
        while not ended.is_set():
            if len(recent.rows(7, 0, 2000)) != 1:
                missed.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(2, 64 * 600):
        recent._current().take("log", number, [(8, 1000, 2.5, UP, 60)])
    ended.set()
    reader.join()
    assert missed == []
