"""The audit record with a million entries: what a page costs, whatever is asked, and what an entry costs to keep."""

import os
import tempfile
import time

from opsapp.audit import resources
from opsapp.audit.resources.log import Log
from tests.bench import Row
from tests.support.app import PASSWORD, Service

ENTRIES = 1_000_000
WRITERS = 4
PAGE = {"user": None, "action": None, "target": None, "since": None, "limit": 100, "offset": 0}
BEGAN = 1_800_000_000.0
QUERIES = {
    "the newest page": {},
    "a page from the middle": {"offset": ENTRIES // 2},
    "of somebody who did most": {"user": "ada"},
    "of somebody who did a handful": {"user": "rare"},
    "a family of actions": {"action": "user"},
    "one target": {"target": "agent-77"},
    "user, action and target": {"user": "otto", "action": "login", "target": "agent-77"},
    "the last hour of one action": {"action": "login", "since": int(BEGAN) + ENTRIES - 3600},
}


def fill(root, writer, first, count):
    log = root.system["audit"].setdefault(writer, Log())
    for n in range(first, first + count):
        user = "rare" if n % 200_000 == 7 else ("ada", "ada", "otto")[n % 3]
        log.append(
            {"id": f"{n:032x}", "time": BEGAN + n, "username": user, "ip": "192.0.2.1",
             "action": ("login", "user.update", "agent.command", "monitor.update")[n % 4], "target": f"agent-{n % 500}",
             "result": "ok", "reason": None, "before": {"label": "old"}, "after": {"label": "new"}}
        )  # fmt: skip


def measure():
    with tempfile.TemporaryDirectory() as place:
        os.environ.setdefault("OPSAPP_ADMIN_PASSWORD", PASSWORD)
        service = Service(place)
        step = 10_000
        for n in range(0, ENTRIES, step):
            service.transact(fill, f"bench.{n // step % WRITERS}", n, step)
        for what, query in QUERIES.items():
            times = []
            for _ in range(5):
                began = time.perf_counter()
                _, total = service.transact(resources.read, PAGE | query)
                times.append((time.perf_counter() - began) * 1000)
            yield Row(f"{what} ({total:,} in all): first", times[0], "ms")
            yield Row(f"{what}: median", sorted(times)[2], "ms")
        service.node.store.db.pack()
        yield Row("kept of an entry, packed", service.node.store.db.getSize() / ENTRIES, "B")
        service.close()
