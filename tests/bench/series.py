"""The series store by itself: bytes and CPU per check, day 1 beside day 90, and reads of a day and of a month.

Checks are made up (a response time of 20 to 28 ms with one decimal, one in a thousand down) and go the whole way:
journal, commit, fold, merge, seal, retention, on FileStorage. Bytes written are the growth of the file; bytes kept are
its size after packing, beside what a persistent object for each sample takes in the same run.
"""

import random
import tempfile
import time
from pathlib import Path

from BTrees.LOBTree import LOBTree
from persistent import Persistent

from opsapp.series.observations import DOWN, UP
from opsapp.series.rollup import DAY, HOUR
from tests.bench import Row
from tests.support.measuring import Measuring
from tests.support.stores import Stores

BASE = 19_700 * DAY
MINUTE = 60_000


class Load:
    """`monitors` checked each minute; a minute's checks are one commit."""

    def __init__(self, directory, monitors):
        self.stores = Stores(Path(directory))
        self.store = Measuring(self.stores)
        self.monitors = monitors
        self.dice = random.Random(7)
        self.checks = 0

    def run(self, start, end, step=MINUTE, commits=1):
        """Observe and fold [start, end); answers CPU seconds spent."""
        began = time.process_time()
        for at in range(start, end, step):
            for part in range(commits):
                for number in range(1 + part, self.monitors + 1, commits):
                    status = UP if self.dice.random() > 0.001 else DOWN
                    value = round(20 + 8 * self.dice.random(), 1)
                    self.store.journal.add(number, at + number % 1000, value, status, 90)
                    self.checks += 1
                self.store.commit(at + step)
            if at % (5 * MINUTE) == 0:
                self.store.fold(at)
            if at % HOUR == 15 * MINUTE:
                self.store.merge(at)
                self.store.seal(at)
                self.store.retire(at)
        return time.process_time() - began

    def size(self):
        return self.stores.history.getSize()

    def packed(self):
        self.stores.history.pack()
        return self.size()


class Sample(Persistent):
    def __init__(self, at, value, status):
        self.at, self.value, self.status = at, value, status


def measure():
    for part in (a_day, ninety_days, reads, one_object_a_sample):
        with tempfile.TemporaryDirectory() as place:
            yield from part(place)


def a_day(place):
    """1,000 monitors at a minute for an hour in commits of a second, then the rest of a day in commits of a minute."""
    load = Load(place, 1000)
    cpu = load.run(BASE, BASE + HOUR, commits=60)
    yield Row("1,000 monitors: CPU per check, journal to folded", 1e6 * cpu / load.checks, "us")
    yield Row("1,000 monitors: bytes written per check", load.size() / load.checks, "B", "theirs (seen): 195")
    load.run(BASE + HOUR, BASE + DAY + HOUR)
    yield Row("1,000 monitors, a day: bytes kept per check, packed", load.packed() / load.checks, "B", "at most 8")
    load.stores.close()


def ninety_days(place):
    load = Load(place, 20)
    figures = {}
    for day in range(90):
        before, checks = load.size(), load.checks
        cpu = load.run(BASE + day * DAY, BASE + (day + 1) * DAY)
        figures[day] = cpu / (load.checks - checks) * 1e6, (load.size() - before) / (load.checks - checks)
    # Day 1 seals nothing yet, so the second day is the one to compare with.
    for name, at, unit in (("CPU", 0, "us"), ("bytes written", 1, "B")):
        early = sum(figures[day][at] for day in range(1, 6)) / 5
        late = sum(figures[day][at] for day in range(85, 90)) / 5
        yield Row(f"20 monitors: {name} per check, days 2 to 6", early, unit)
        yield Row(f"20 monitors: {name} per check, days 86 to 90", late, unit, "the same")
    yield Row("20 monitors, 90 days: bytes kept per check, packed", load.packed() / load.checks, "B")
    load.stores.close()


def reads(place):
    """1,000 monitors: 28 days of hourly checks, a day at a minute, and 69 minutes that are not merged yet."""
    load = Load(place, 1000)
    load.run(BASE, BASE + 29 * DAY, HOUR)
    now = BASE + 30 * DAY + 69 * MINUTE
    load.run(BASE + 29 * DAY, now)
    load.store.read(lambda reading: None)
    times = []
    for n in range(500):
        number = 1 + n * 7 % 1000
        began = time.perf_counter()
        found = load.store.read(lambda reading, number=number: reading.buckets(number, now - DAY, now, 5 * MINUTE))
        times.append(time.perf_counter() - began)
        if len(found) != 289:
            raise AssertionError(f"{len(found)} buckets")
    times.sort()
    yield Row("history of 24 h at 5 minutes: p50", 1000 * times[250], "ms")
    yield Row("history of 24 h at 5 minutes: p99", 1000 * times[495], "ms", "at most 20")
    for kind in ("first read", "again"):
        began = time.perf_counter()
        found = load.store.read(lambda reading: reading.totals(now - 30 * DAY, now, range(1, 1001)))
        yield Row(f"SLA of 30 days over {len(found):,} monitors, {kind}", 1000 * (time.perf_counter() - began), "ms",
                  "at most 500")  # fmt: skip
    load.stores.close()


def one_object_a_sample(place):
    stores = Stores(Path(place))

    def write(root, minute):
        samples = root.setdefault("samples", LOBTree())
        for number in range(100):
            samples[minute * 100 + number] = Sample(BASE + minute * MINUTE, 20.5 + number / 10, UP)

    for minute in range(60):
        stores.transact(write, minute)
    written = stores.main.getSize()
    stores.main.pack()
    yield Row("beside: a persistent object a sample, bytes written", written / 6000, "B")
    yield Row("beside: a persistent object a sample, packed", stores.main.getSize() / 6000, "B")
    stores.close()
