"""2,000 slow connections held for a minute, heads and bodies: what others notice, and whether memory comes back."""

import tempfile
import time

import gevent
from gevent import socket

from tests.bench import Row
from tests.bench.load import percentile
from tests.bench.serving import View

CONNECTIONS = 2000
SECONDS = 60
AGAIN = 6
HEAD = b"GET /api/me HTTP/1.1\r\nHost: bench\r\nX-Slow: "
BODY = b"POST /api/me HTTP/1.1\r\nHost: bench\r\nContent-Length: 100000\r\n\r\n"


def hold(address, first, until):
    """One slow client: a byte every few seconds; when it is cut it comes back."""
    while time.monotonic() < until:
        link = socket.create_connection(address)
        try:
            link.sendall(first)
            while time.monotonic() < until:
                gevent.sleep(5)
                link.sendall(b"x")
        except OSError:
            gevent.sleep(0.5)
        finally:
            link.close()


def honest(view, until, times):
    """One client that asks as everybody does, ten times a second."""
    while time.monotonic() < until:
        began = time.perf_counter()
        assert view.client().get("/api/me")["username"] == "ada"
        times.append((time.perf_counter() - began) * 1000)
        gevent.sleep(0.1)


def wave(address, seconds):
    until = time.monotonic() + seconds
    return until, [gevent.spawn(hold, address, BODY if n % 2 else HEAD, until) for n in range(CONNECTIONS)]


def measure():
    with tempfile.TemporaryDirectory() as place, View(place, "ours") as view:
        address = ("127.0.0.1", view.port)
        fresh = view.figures()
        gevent.joinall(wave(address, 5)[1])
        gevent.sleep(3)
        before = view.figures()
        until, slow = wave(address, SECONDS)
        gevent.sleep(2)
        held, times = view.figures(), []
        gevent.get_hub().threadpool.spawn(honest, view, until, times).get()
        late = view.figures()
        gevent.joinall(slow)
        gevent.sleep(3)
        after = view.figures()
        rounds = [after["memory"]]
        for _ in range(AGAIN):
            gevent.joinall(wave(address, 5)[1])
            gevent.sleep(3)
            rounds.append(view.figures()["memory"])
        last = view.figures()
    yield Row("connections held", held["files"] - before["files"], "", f"{CONNECTIONS}")
    yield Row("others: p50", percentile(times, 50), "ms")
    yield Row("others: p99", percentile(times, 99), "ms", "at most 50")
    yield Row("hub lateness p99", late["p99"], "ms", "at most 10")
    yield Row("memory of a fresh process", fresh["memory"] / 1e6, "MB")
    yield Row("memory after a first wave of 5 s", before["memory"] / 1e6, "MB")
    yield Row("memory while they are held", held["memory"] / 1e6, "MB")
    yield Row("memory after the minute", after["memory"] / 1e6, "MB", "as after the first wave")
    for n, memory in enumerate(rounds[1:], 2):
        yield Row(f"memory after wave {n + 1}, of 5 s", memory / 1e6, "MB", "no more: a plateau, no leak")
    yield Row("growth over the last three waves", (rounds[-1] - rounds[-4]) / 1e6, "MB", "0")
    yield Row("files left open", last["files"] - fresh["files"], "", "0")
