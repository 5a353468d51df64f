"""kill -9 of the server under a stream of writes: every answered write is there, and it comes up again. How soon is
told by `make bench ARGS=crash`."""

import random
import time

import pytest

from tests.support.process import Serve
from tests.support.waiting import until
from tests.support.writers import Writer, missing

pytestmark = pytest.mark.system


def crash_again_and_again(tmp_path, points, seed):
    chance, writers = random.Random(seed), []
    with Serve(tmp_path) as serve:
        for point in range(points):
            now = [Writer(serve.admin, f"writer-{point}-{n}") for n in range(3)]
            until(lambda now=now: any(writer.answered for writer in now), 10, what="a first answered write")
            time.sleep(chance.uniform(0, 0.4))  # the seeded point of the kill
            serve.kill()
            for writer in now:
                writer.end()
            writers += now
            serve.start()
            assert missing(serve.admin, writers) == {}
    assert sum(len(writer.answered) for writer in writers) >= points


@pytest.mark.crash
@pytest.mark.parametrize("points", [4, pytest.param(20, marks=pytest.mark.nightly("the core list has four kills"))])
def test_every_answered_write_survives_kill_9(tmp_path, points):
    crash_again_and_again(tmp_path, points, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_every_answered_write_survives_500_kills(tmp_path):
    crash_again_and_again(tmp_path, points=500, seed=random.randrange(1 << 32))
