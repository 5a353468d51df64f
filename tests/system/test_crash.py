"""kill -9 of the server under a stream of writes: every answered write is there, and it comes up again at once."""

import random
import threading

import pytest

from tests.support.process import Serve
from tests.support.waiting import until
from tests.support.writers import Writer, missing

pytestmark = pytest.mark.system


def crash_again_and_again(tmp_path, points, seed):
    chance = random.Random(seed)
    starts, writers = [], []
    with Serve(tmp_path) as serve:
        for point in range(points):
            now = [Writer(serve.admin, f"writer-{point}-{n}") for n in range(3)]
            until(lambda now=now: any(writer.answered for writer in now), 10, what="a first answered write")
            threading.Event().wait(chance.uniform(0, 0.4))
            serve.kill()
            for writer in now:
                writer.end()
            writers += now
            starts.append(serve.start())
            assert missing(serve.admin, writers) == {}
    return starts, sum(len(writer.answered) for writer in writers)


@pytest.mark.crash
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_every_answered_write_survives_kill_9(tmp_path):
    starts, written = crash_again_and_again(tmp_path, points=20, seed=1)
    assert written > 100
    assert min(starts) < 2  # the machine may be busy in between; `make bench` measures
    assert sorted(starts)[len(starts) // 2] < 5


@pytest.mark.soak
def test_every_answered_write_survives_500_kills(tmp_path):
    crash_again_and_again(tmp_path, points=500, seed=random.randrange(1 << 32))
