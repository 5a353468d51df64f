"""What pages that are open in browsers cost a real server: while nothing changes, and for each change that they are
told of. What they then ask for anew, `pages` measures.
"""

import socket
import tempfile
import threading
import time
import urllib.parse

from tests.bench import Row
from tests.support.process import Serve

PAGES, SECONDS, CHANGES = 50, 30, 60
PULSE_S = 3  # as a page asks for it
MONITOR = {"name": "shop", "type": "tcp", "interval": 3600, "retries": 0}


def measure():
    with tempfile.TemporaryDirectory() as work, Serve(work) as serve:
        host, port = urllib.parse.urlsplit(serve.url).hostname, urllib.parse.urlsplit(serve.url).port
        monitor = serve.admin.post("/api/monitoring/endpoints", MONITOR | {"url": f"tcp://{host}:{port}"})["id"]
        alone, alone_changes = at_rest(serve), changed(serve, monitor)
        streams = [Stream(host, port, serve.admin.token) for _ in range(PAGES)]
        beside, beside_changes = at_rest(serve), changed(serve, monitor)
        told = sum(stream.count(b"event: monitor") for stream in streams) / PAGES / CHANGES
        for stream in streams:
            stream.close()
    yield Row("the server, a second, no page open", 1000 * alone, "ms")
    yield Row("an open page, a second, nothing changes", 1000 * (beside - alone) / PAGES, "ms", "nothing")
    yield Row("a change, no page open", 1000 * alone_changes, "ms")
    yield Row("a change, for each page that is told of it", 1000 * (beside_changes - alone_changes) / PAGES, "ms", "1")
    yield Row("events for a change and page", told, "")


def at_rest(serve):
    """Seconds of processor a second."""
    time.sleep(2)
    before = serve.cpu_s()
    time.sleep(SECONDS)
    return (serve.cpu_s() - before) / SECONDS


def changed(serve, monitor):
    """Seconds of processor for a change, until it was told."""
    before = serve.cpu_s()
    for number in range(CHANGES):
        serve.admin.put(f"/api/monitoring/endpoints/{monitor}", {"name": f"shop {number}"})
    time.sleep(1)
    return (serve.cpu_s() - before) / CHANGES


class Stream:
    """What a page's live module holds open."""

    def __init__(self, host, port, token):
        self.received = b""
        self.link = socket.create_connection((host, port), timeout=60)
        head = f"GET /api/stream?pulse={PULSE_S} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
        self.link.sendall(head.encode())
        self.received += self.link.recv(4096)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with self.link:
            while piece := self.link.recv(65536):
                self.received += piece

    def count(self, words):
        return self.received.count(words)

    def close(self):
        self.link.shutdown(socket.SHUT_RDWR)
