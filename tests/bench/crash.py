"""kill -9 under a stream of writes: how long the start afterwards takes, until the first answer."""

import tempfile
import threading

from tests.bench import Row, seconds_of
from tests.support.process import Serve
from tests.support.waiting import until
from tests.support.writers import Writer, missing

KILLS = 10


def measure():
    starts, writers = [], []
    with tempfile.TemporaryDirectory() as place, Serve(place) as serve:
        for kill in range(KILLS):
            now = [Writer(serve.admin, f"writer-{kill}-{n}") for n in range(3)]
            until(lambda now=now: all(writer.answered for writer in now), 20)
            threading.Event().wait(0.3)
            serve.kill()
            for writer in now:
                writer.end()
            writers += now
            starts.append(seconds_of(serve.start))
        lost = missing(serve.admin, writers)
    yield Row("start after kill -9, median", sorted(starts)[KILLS // 2], "s", "under 2")
    yield Row("start after kill -9, worst", max(starts), "s")
    yield Row("answered writes", sum(len(writer.answered) for writer in writers), "")
    yield Row("answered writes lost", len(lost), "", "0")
