"""2,000 and 10,000 idle event streams: memory each, what others notice, and how fast their end is noticed."""

import tempfile
import time

import gevent
from gevent import socket

from tests.bench import Row
from tests.bench.load import load, request
from tests.bench.serving import View

COUNTS = (2000, 10_000)
STREAM = b"GET /bench/stream HTTP/1.1\r\nHost: bench\r\n\r\n"


def opened(address, count):
    """So many streams, each past its first word."""
    links = []

    def one():
        link = socket.create_connection(address, timeout=30)
        link.sendall(STREAM)
        got = b""
        while b"hello" not in got:
            got += link.recv(4096)
        links.append(link)

    for start in range(0, count, 200):
        gevent.joinall([gevent.spawn(one) for _ in range(start, min(start + 200, count))], raise_error=True)
    return links


def measure():
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as place, View(place, "ours") as view:
            address = ("127.0.0.1", view.port)
            before = view.figures()
            links = opened(address, count)
            held = view.figures()
            others = load(address, request("/api/me"), connections=4, seconds=3)
            began = time.perf_counter()
            for link in links:
                link.close()
            closing = time.perf_counter() - began
            while view.figures()["streams"]:
                gevent.sleep(0.01)
            noticed = time.perf_counter() - began
        yield Row(f"{count:,} streams: open", held["streams"], "", f"{count:,}")
        yield Row(
            f"{count:,} streams: memory each", (held["memory"] - before["memory"]) / count / 1000, "kB", "about 25"
        )
        yield Row(f"{count:,} streams: others' p99 beside them", others.p99, "ms")
        yield Row(f"{count:,} streams: closing them took the client", closing * 1000, "ms")
        yield Row(f"{count:,} streams: all ends noticed after", noticed * 1000, "ms")
