"""kill -9 in the middle of committing, folding, merging and sealing: whatever was acknowledged is there, once."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opsapp.series.rollup import DAY
from tests.support import engines
from tests.support.measuring import WHOLE, Measuring
from tests.support.series_writer import BASE, SERIES
from tests.support.stores import Stores
from tests.support.waiting import until

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]


def test_nothing_acknowledged_is_lost_by_kills_at_random_points(tmp_path):
    survive(tmp_path, kills=10, seed=20260101)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_nothing_acknowledged_is_lost_by_many_kills(tmp_path, seed):
    survive(tmp_path, kills=50, seed=seed)


def survive(directory, kills, seed):
    dice, acknowledged, addresses = random.Random(seed), 0, engines.uris(directory).values()
    for _ in range(kills):
        said = write_and_kill(directory, addresses, acknowledged + 1, dice.randrange(8), dice.uniform(0.05, 0.5))
        acknowledged = max(acknowledged, said)
        check(directory, addresses, acknowledged)
    assert acknowledged >= kills, "the writers hardly came to write"


def write_and_kill(directory, addresses, first, least, seconds):
    """Let a writer commit so often, and run for a moment more, end it without warning, answer its last
    acknowledgement."""
    command = [sys.executable, "-m", "tests.support.series_writer", str(directory), str(first), *addresses]
    with open(directory / "said", "w+") as said:
        child = subprocess.Popen(command, stdout=said, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        try:
            until(
                lambda: (directory / "said").read_text().count("\n") > least or child.poll() is not None,
                60,
                what=f"{least} acknowledgements",
            )
            time.sleep(seconds)  # the seeded point of the kill
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
        said.seek(0)
        lines = [line for line in said.read().split("\n")[1:-1] if line]
    return int(lines[-1]) if lines else 0


def check(directory, addresses, acknowledged):
    """Every acknowledged observation is read back; at most one that was not is there too; sums agree with rows."""
    stores = Stores(directory, addresses)
    try:
        store = Measuring(stores)
        end = BASE + 100 * DAY
        numbers = [1 + 64 * n for n in range(SERIES)]
        rows = [store.read(lambda reading, n=n: reading.rows(n, BASE, end)) for n in numbers]
        values = sorted(int(row.value) for found in rows for row in found)
        assert values in (list(range(1, acknowledged + 1)), list(range(1, acknowledged + 2)))
        totals = store.read(lambda reading: reading.totals(BASE, end, numbers))
        assert sum(total.checks for total in totals.values()) == len(values)
        hourly = [store.read(lambda reading, n=n: reading.buckets(n, BASE, end, 3_600_000)) for n in numbers]
        assert sum(bucket.checks for found in hourly for bucket in found) == len(values)
        assert store.recent.rows(numbers[0], 0, WHOLE) is not None
    finally:
        stores.close()
