"""GET /api/me and a list of 1,000 agents at 64 connections, one process, beside a bare Pyramid view on gevent."""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from tests.bench import Row
from tests.bench.load import load, request
from tests.support.client import Client
from tests.support.process import Process, Serve, free_port


class Bare(Process):
    name = "bare"

    def __init__(self, directory):
        super().__init__(directory)
        self.port = free_port()

    def command(self):
        return [sys.executable, "-m", "tests.bench.bare", str(self.port)]

    def is_ready(self):
        try:
            return Client(f"http://127.0.0.1:{self.port}").request("GET", "/api/me").status == 200
        except OSError:
            return False


def measure():
    with tempfile.TemporaryDirectory() as place:
        with Bare(place) as bare:
            theirs, their_cpu = measured(bare, request("/api/me"))
        yield from rows("bare view", theirs, their_cpu)
        with Serve(place) as serve:
            token = serve.admin.token
            ours, our_cpu = measured(serve, request("/api/me", token))
            yield from rows("GET /api/me", ours, our_cpu)
            yield Row("rate beside the bare view", 100 * ours.rate / theirs.rate, "%", "at least 50")
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda n: serve.admin.post("/api/agents", {"label": f"agent {n}"}), range(1000)))
            yield from rows("GET /api/agents, 1,000 of them", *measured(serve, request("/api/agents", token)))


def measured(process, sent):
    """(Load, microseconds of processor a request): the second says more on a machine that has other work too."""
    before, began = process.cpu_s(), time.monotonic()
    found = load(("127.0.0.1", process.port), sent)
    spent, took = process.cpu_s() - before, time.monotonic() - began
    return found, spent / (found.rate * took) * 1e6


def rows(what, found, cpu):
    if found.wrong:
        raise AssertionError(f"{what}: {found.wrong} answers were not 200")
    yield Row(f"{what}: requests a second", found.rate, "/s")
    yield Row(f"{what}: p50", found.p50, "ms")
    yield Row(f"{what}: p99", found.p99, "ms")
    yield Row(f"{what}: processor a request", cpu, "us")
