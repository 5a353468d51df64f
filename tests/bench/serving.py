"""The server alone: one bare Pyramid view behind stock gevent.pywsgi and behind ours, 64 keep-alive connections."""

import sys
import tempfile

from tests.bench import Row
from tests.bench.load import load, request
from tests.support.client import Client
from tests.support.process import Process, free_port


class View(Process):
    """A bare view behind one of the two servers."""

    def __init__(self, directory, module):
        self.name = module
        super().__init__(directory)
        self.module, self.port = module, free_port()

    def command(self):
        return [sys.executable, "-m", f"tests.bench.{self.module}", str(self.port)]

    def client(self):
        return Client(f"http://127.0.0.1:{self.port}")

    def is_ready(self):
        try:
            return self.client().request("GET", "/api/me").status == 200
        except OSError:
            return False

    def figures(self):
        return self.client().get("/bench/stall")


def measure():
    with tempfile.TemporaryDirectory() as place:
        with View(place, "bare") as bare:
            stock = load(("127.0.0.1", bare.port), request("/api/me"))
        with View(place, "ours") as view:
            view.figures()
            ours = load(("127.0.0.1", view.port), request("/api/me"))
            late = view.figures()
    for name, figures in (("stock", stock), ("ours", ours)):
        yield Row(f"{name}: answers a second", figures.rate, "1/s")
        yield Row(f"{name}: p50", figures.p50, "ms")
        yield Row(f"{name}: p99", figures.p99, "ms")
        yield Row(f"{name}: wrong answers", figures.wrong, "", "0")
    yield Row("ours beside stock", 100 * ours.rate / stock.rate, "%", "at least 50")
    yield Row("hub lateness p99 under that load", late["p99"], "ms")
