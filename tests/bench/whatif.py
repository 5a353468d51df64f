"""A draft rule over the past of 30 hosts: 30 days, the last 7 of them raw at 15 s."""

import tempfile
import time
import tracemalloc
from pathlib import Path

from opsapp.series import codec, history_root
from opsapp.series.history import open_history
from opsapp.series.observations import Row as Reading
from tests.bench import Row
from tests.support.pastfleet import DAY, PastFleet

HOSTS, DAYS, RAW_DAYS = 30, 30, 8
EVERY_S, EVERY_S_BEFORE = 15, 60  # what is only kept summed up may as well be made of less
HOT = {"id": "hot", "condition": "cpu_percent > 90", "for": 300, "cooldown_s": 3600, "initial_level": "notify",
       "action": {"type": "clear_cache"}}  # fmt: skip


def loaded(n, now):
    """Half an hour of load each day."""
    at = (now + 2977 * n) % DAY
    return {"cpu_percent": 92.0 + at % 7 if at < 1800 else 20.0 + at * (n + 1) % 50 / 5}


def day(root, fleet, begin, every):
    """A day of readings, as the folder hands it on."""
    history = open_history(history_root(root), create=True)
    kept = history.day(begin * 1000)
    for n, numbers in fleet.series.items():
        rows = [Reading(at * 1000, loaded(n, at)["cpu_percent"], 0, 45) for at in range(begin, begin + DAY, every)]
        kept.take({numbers["cpu_percent"]: codec.encode_chunk(rows)})
    kept.seal()
    history.horizon = kept.end


def measure():
    with tempfile.TemporaryDirectory() as place:
        fleet = PastFleet(Path(place), hosts=HOSTS, interval=EVERY_S)
        first = int(fleet.clock.now()) // DAY * DAY
        for number in range(DAYS + 1):
            every = EVERY_S if number > DAYS - RAW_DAYS else EVERY_S_BEFORE
            fleet.node.transact(day, fleet, first + number * DAY, every)
        fleet.clock.advance((DAYS + 1) * DAY)
        fleet.settle()
        began, used = time.perf_counter(), time.process_time()
        answer = fleet.asked(HOT, days=DAYS)
        took, used = time.perf_counter() - began, time.process_time() - used
        tracemalloc.start()
        fleet.asked(HOT, days=DAYS)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        fleet.close()
    yield Row("firings found", answer["total"], "")
    yield Row("30 hosts × 30 days", took, "s", "at most 5")
    yield Row("  its processor time", used, "s")
    yield Row("  its memory at most", peak / 1e6, "MB", "at most 200")
