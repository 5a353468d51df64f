"""How late the hub is while 500 checks a second run, 50 clients read and one waits for a slow deferred answer."""

import contextlib
import re
import tempfile
import threading
import time

from tests.bench import Row
from tests.bench.load import load, percentile, request
from tests.bench.rates import Bare
from tests.support.process import Serve
from tests.support.waiting import until

CHECKS, INTERVAL = 2500, 5  # 500 a second
READERS, READS_PER_S = 50, 4


class Watched(Serve):
    """A server with tests/bench/stalls.py in it, and what else is to be included."""

    def __init__(self, directory, *more_includes, **more):
        super().__init__(directory, **more)
        includes = " ".join(("tests.bench.stalls", *more_includes))
        text = self.ini.read_text().replace("%(here)s", str(self.ini.parent))
        self.ini = self.directory / "watched.ini"
        self.ini.write_text(re.sub(r"^(\[app:main\])$", rf"\1\npyramid.includes = {includes}", text, flags=re.M))
        self.stalls = self.directory / "stalls"

    def environment(self):
        return {**super().environment(), "OPSAPP_STALLS": str(self.stalls)}

    def lateness(self, skip=0):
        """The samples in ms, without the first `skip` lines (of a second each)."""
        lines = self.stalls.read_text().splitlines() if self.stalls.exists() else []
        return [float(word) for line in lines[skip:] for word in line.split()]

    def lines(self):
        return len(self.stalls.read_text().splitlines()) if self.stalls.exists() else 0


def watch_everything(serve, target, count, interval):
    """`count` http monitors on one target."""
    for number in range(count):
        serve.admin.post("/api/monitoring/endpoints", {"name": f"m{number}", "url": target, "type": "http",
                                                       "interval": interval, "timeout": 4})  # fmt: skip


def slow_answers(serve, seconds, told):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        told.append(serve.client(timeout=30).request("GET", "/api/slow").status)


def under_load(serve, seconds, readers=READERS, per_second=READS_PER_S):
    """(samples of the hub's lateness, the readers' Load, statuses of the slow answers)"""
    told, skip = [], serve.lines() + 1
    slow = threading.Thread(target=slow_answers, args=(serve, seconds, told))
    slow.start()
    reading = load((serve.host, serve.port), request("/api/me", serve.admin.token), readers, seconds, per_second)
    slow.join()
    return serve.lateness(skip), reading, told


def measure():
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        bare = stack.enter_context(Bare(place))
        serve = stack.enter_context(Watched(place))
        watch_everything(serve, f"http://127.0.0.1:{bare.port}/api/me", CHECKS, INTERVAL)
        until(lambda: all(each["status"] == "up" for each in serve.admin.get("/api/monitoring/endpoints")), 60, every=1)
        late, reading, told = under_load(serve, 20)
        if reading.wrong or set(told) != {200}:
            raise AssertionError(f"{reading.wrong} reads and {told} slow answers were not 200")
        yield Row("hub late, p50", percentile(late, 50), "ms")
        yield Row("hub late, p99", percentile(late, 99), "ms", "at most 10")
        yield Row("hub late, worst", max(late), "ms")
        yield Row("reads a second", reading.rate, "/s")
        yield Row("reads, p99", reading.p99, "ms")
        yield Row("slow deferred answers meanwhile", len(told), "")
