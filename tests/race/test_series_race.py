"""Two nodes write while two fold, merge and seal at once, as after a takeover: every row is there, once."""

import threading

import pytest

from opsapp.series.observations import UP
from opsapp.series.rollup import DAY
from tests.support.measuring import Measuring
from tests.support.stores import Stores

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
            gate.wait(60)
            store.journal.add(number, clock[-1] + number, float(number), UP, 400)
            store.commit(clock[-1])

    def fold(node):
        store = Measuring(stores, node)
        for _ in range(ROUNDS):
            gate.wait(60)
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
        thread.join(100)
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
