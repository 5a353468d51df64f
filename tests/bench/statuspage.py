"""The status page with 15 components and 90 days behind each: whole, and as 304 for whoever has it (target 20 ms).

The real application without sockets: traversal, transaction, document, template. A half-hourly check made history.
"""

import tempfile
import time

from opsapp.runtime import serieswork
from opsapp.series import folds
from opsapp.series.history import history_root
from opsapp.series.observations import DOWN, UP
from opsapp.series.rollup import DAY
from tests.bench import Row
from tests.support.app import Service

HALF_HOUR = 1_800_000
KEEP = 730 * DAY


def measure():
    with tempfile.TemporaryDirectory() as place:
        service = Service(place)
        for n in range(15):
            body = {"name": f"Part {n:02}", "type": "tcp", "url": "tcp://127.0.0.1:1", "tags": ["public"]}
            service.otto.post_json("/api/monitoring/endpoints", body)
        fill(service)
        first = service.anonymous.get("/status")
        yield Row("the page", len(first.body) / 1000, "kB", "under 50")
        yield from timed("GET /status", lambda: service.anonymous.get("/status", status=200))
        has = {"If-None-Match": first.headers["ETag"]}
        yield from timed("GET /status, not changed", lambda: service.anonymous.get("/status", headers=has, status=304))
        path = "/api/monitoring/status-page"
        yield from timed(f"GET {path}", lambda: service.anonymous.get(path, status=200))
        service.close()


def fill(service):
    """90 days, the last one still open."""
    node, now = service.node, serieswork.now_ms(service.node)
    start = now - 90 * DAY
    for day in range(start, now, DAY):
        for at in range(day, min(day + DAY, now), HALF_HOUR):
            for number in range(1, 16):
                node.series.journal.add(number, at, 20.0 + number, DOWN if at % 97 == 0 else UP, 1900)
        end = min(day + DAY, now)
        node.series.journal.pack(end)
        node.series.journal.settle(node.transact(node.series.flush))
        node.transact(lambda root, at: folds.fold(history_root(root), at, KEEP), end)
        for step in (folds.merge, folds.seal):
            while node.transact(lambda root, at, step=step: step(history_root(root), at), end):
                pass


def timed(what, call):
    times = []
    for _ in range(300):
        began = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - began))
    times.sort()
    yield Row(f"{what}: p50", times[150], "ms")
    yield Row(f"{what}: p99", times[297], "ms", "at most 20")
