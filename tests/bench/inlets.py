"""Events from elsewhere, by single posts and by lists: how many a second, by the clock and of the server's processor.

Single posts come on 64 kept connections, lists have 250 events. Some are about monitors that are known, so that they
are readings; the others are about nothing here, and become incidents of their own. Each event is told once: what says
the same again is not written.
"""

import json
import os
import tempfile
import time

import gevent
from gevent import socket

from tests.bench import Row
from tests.bench.load import answer, request
from tests.support.process import Serve

POSTS = int(os.environ.get("BENCH_EVENTS", "2000"))
CONNECTIONS = 64
IN_A_LIST = 250
MONITORS = 50


def event(number, known):
    target = f"m{number % MONITORS}" if known else f"h{number}"
    return {"id": str(number), "status": "firing", "name": "Down", "target": target, "summary": "x" * 200}


def sent(serve, bodies, path):
    """Each body by a post of its own. Returns (seconds by the clock, seconds of the server's processor)."""
    waiting = [request(path, method="POST", body=json.dumps(body).encode()) for body in reversed(bodies)]

    def client():
        link, buffer = socket.create_connection(("127.0.0.1", serve.port)), b""
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while waiting:
            link.sendall(waiting.pop())
            status, buffer = answer(link, buffer)
            assert status == 200, status
        link.close()

    used, began = serve.cpu_s(), time.monotonic()
    gevent.joinall([gevent.spawn(client) for _ in range(CONNECTIONS)], raise_error=True)
    return time.monotonic() - began, serve.cpu_s() - used


def measure():
    with tempfile.TemporaryDirectory() as place, Serve(place) as serve:
        for number in range(MONITORS):
            monitor = {"name": f"m{number}", "type": "http", "url": "http://127.0.0.1:9/", "interval": 3600}
            serve.admin.post("/api/monitoring/endpoints", monitor)
        for known, what in ((True, "readings of a monitor"), (False, "incidents of their own")):
            path = serve.admin.post("/api/healing/inlets", {"name": f"posts: {what}"})["url"]
            took, used = sent(serve, [event(number, known) for number in range(POSTS)], path)
            yield Row(f"single posts, {what}", POSTS / took, "/s", "at least 500")
            yield Row(f"  posts by its processor, {what}", POSTS / used, "/s")
            path = serve.admin.post("/api/healing/inlets", {"name": f"lists: {what}"})["url"]
            lists = [[event(number + at, known) for at in range(IN_A_LIST)] for number in range(0, POSTS, IN_A_LIST)]
            took, used = sent(serve, lists, path)
            yield Row(f"by lists, {what}", POSTS / took, "/s", "at least 2,000")
            yield Row(f"  lists by its processor, {what}", POSTS / used, "/s")
