"""One process under everything at once: 500 checks a second, 50 reading clients, one slow answer after another."""

import json
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gevent

from tests.bench import Row
from tests.bench.load import answer, percentile, request
from tests.support.process import PASSWORD, Process, Serve, free_port
from tests.support.waiting import until

CHECKS_PER_SECOND = 500
INTERVAL = 5
READERS = 50
READS_EACH = 6  # a second
SECONDS = 20
GENEROUS = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}}}


class Target(Process):
    name = "target"

    def __init__(self, directory):
        super().__init__(directory)
        self.port = free_port()

    def command(self):
        return [sys.executable, "-m", "tests.bench.target", str(self.port)]

    def is_ready(self):
        with gevent.socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Watched(Serve):
    """`opsapp serve` whose hub is watched."""

    def command(self):
        python, _m, _cli, *words = super().command()
        return [python, "-m", "tests.bench.watched", str(self.directory / "figures"), *words]

    def figures(self):
        path = Path(self.directory / "figures")
        path.unlink(missing_ok=True)
        self.child.send_signal(signal.SIGUSR1)
        until(path.exists, 10, what="the figures")
        return json.loads(path.read_text())


def reader(address, sent, end, times):
    link, buffer = gevent.socket.create_connection(address), b""
    while (began := time.perf_counter()) < end:
        link.sendall(sent)
        status, buffer = answer(link, buffer)
        assert status == 200, status
        times.append((time.perf_counter() - began) * 1000)
        gevent.sleep(max(0.0, 1 / READS_EACH - (time.perf_counter() - began)))
    link.close()


def slow_answers(serve, end, count):
    """A sign-in every second: a password's hash is made off the hub while the answer waits."""
    while time.perf_counter() < end:
        began = time.perf_counter()
        got = serve.client().request("POST", "/api/login", {"username": "admin", "password": PASSWORD})
        assert got.status == 200, got
        count.append((time.perf_counter() - began) * 1000)
        time.sleep(1)


def measure():
    with tempfile.TemporaryDirectory() as place, Target(place) as target, Watched(place, GENEROUS) as serve:
        made = {"type": "http", "url": f"http://127.0.0.1:{target.port}/", "interval": INTERVAL, "timeout": 2}
        with ThreadPoolExecutor(4) as pool:
            names = [f"monitor {n}" for n in range(CHECKS_PER_SECOND * INTERVAL)]
            list(pool.map(lambda name: serve.admin.post("/api/monitoring/endpoints", {**made, "name": name}), names))
        gevent.sleep(2 * INTERVAL)
        first = serve.figures()
        end, times, deferred = time.perf_counter() + SECONDS, [], []
        sent = request("/api/me", serve.admin.token)
        pool = gevent.get_hub().threadpool
        slow = pool.spawn(slow_answers, serve, end, deferred)
        clients = [gevent.spawn(reader, (serve.host, serve.port), sent, end, times) for _ in range(READERS)]
        gevent.joinall([*clients, slow], raise_error=True)
        last = serve.figures()
        status = {monitor["status"] for monitor in serve.admin.get("/api/monitoring/endpoints?limit=1000")}
    seconds = last["at"] - first["at"]
    yield Row("hub lateness p99, checks alone", first["p99"], "ms", "at most 10")
    yield Row("hub lateness p50, everything at once", last["p50"], "ms")
    yield Row("hub lateness p99, everything at once", last["p99"], "ms", "at most 10")
    yield Row("hub lateness, worst", last["worst"], "ms")
    yield Row("reads a second", len(times) / seconds, "1/s")
    yield Row("reads: p50", percentile(times, 50), "ms")
    yield Row("reads: p99", percentile(times, 99), "ms")
    yield Row("deferred answers (sign-ins) meanwhile: p50", percentile(deferred, 50), "ms")
    yield Row("CPU of the process", 100 * (last["cpu"] - first["cpu"]) / seconds, "% of a core")
    yield Row("memory", last["memory"] / 1e6, "MB")
    yield Row("monitors that are not up", len(status - {"up"}), "states", "0")
