"""The start of a server after kill -9 on a store that has been in use: until the first answer (target 2 s).

1,000 agents, 300 monitors with a month of checks behind them, 300 users, 50,000 audit entries, 20,000 of the ledger,
and the changes of an hour in the outbox, 20 a second (BENCH_CHANGES). On a file and on ZEO; until the first check too.
"""

import os
import re
import secrets
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from opsapp.agents.engine import lifecycle
from opsapp.auth import resources as auth
from opsapp.runtime import events, serieswork
from opsapp.runtime.clocks.clock import Clock
from opsapp.series import folds
from opsapp.series.history import history_root
from opsapp.series.observations import DOWN, UP
from opsapp.series.rollup import DAY
from tests.bench import Row
from tests.bench.audit import fill as fill_audit
from tests.bench.healing import fill_ledger
from tests.support.app import Service
from tests.support.process import Serve, Zeo
from tests.support.waiting import until

AGENTS, MONITORS, USERS, AUDIT, LEDGER, DAYS = 1_000, 300, 300, 50_000, 20_000, 30
HOUR = 3_600_000
STARTS = 7
CHANGES = int(os.environ.get("BENCH_CHANGES", "72000"))
SCRAPE = "a token for who measures"
CONFIG = {"monitoring": {"allow_networks": ["127.0.0.0/8"]}, "web": {"scrape_token": SCRAPE}}


def measure():
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        data.mkdir()
        service = Service(data, clock=Clock())
        fill(service)
        service.close()
        yield Row("the store", sum(path.stat().st_size for path in data.glob("*.fs")) / 1e6, "MB")
        yield from rows("a file", starts(Serve(place, data=data, config=CONFIG), data))
        with Zeo(data) as server:
            flags = {"data": Path(place) / "node", "config": CONFIG, "node": "one", **server.uris()}
            yield from rows("ZEO", starts(Serve(place, **flags)))


class Start(NamedTuple):
    """Seconds since the process was begun."""

    answered: float
    checked: float


def starts(serve, data=None):
    """`data`: where the indexes of the store's files are taken away, as after a long life: ZODB writes them when a
    store is closed."""
    found = []
    for _ in range(STARTS):
        for index in data.glob("*.index") if data else ():
            index.unlink()
        began = time.monotonic()
        serve.start()
        answered = time.monotonic() - began
        until(lambda: checks_of(serve) > 0, 120, every=0.02, what="a check")
        found.append(Start(answered, time.monotonic() - began))
        serve.kill()
    return found


def checks_of(serve):
    answer = serve.client(token=SCRAPE).request("GET", "/metrics")
    return float(re.search(r"^opsapp_checks_total\S* (\S+)", answer.body.decode(), re.MULTILINE)[1])


def rows(engine, found):
    answered, checked = (sorted(times) for times in zip(*found, strict=True))
    yield Row(f"{engine}: start after kill -9, median", answered[STARTS // 2], "s", "under 2")
    yield Row(f"{engine}: start after kill -9, worst", answered[-1], "s", "under 2")
    yield Row(f"{engine}: until the first check, median", checked[STARTS // 2], "s")
    yield Row(f"{engine}: until the first check, worst", checked[-1], "s", "under 10")


def fill(service):
    for first in range(0, AGENTS, 100):
        service.transact(agents, first)
    service.transact(users)
    for n in range(MONITORS):
        body = {"name": f"Part {n:03}", "type": "tcp", "url": "tcp://127.0.0.1:1", "tags": ["public"]}
        service.otto.post_json("/api/monitoring/endpoints", body)
    for n in range(0, AUDIT, 5_000):
        service.transact(fill_audit, f"bench.{n // 5_000}", n, 5_000)
    for first in range(0, LEDGER, 2_000):
        service.transact(fill_ledger, first, first + 2_000)
    checks(service.node)
    for n in range(CHANGES):
        service.transact(change, n)


def change(root, n):
    events.emit(
        root, "monitor_state", {"monitor_id": f"{n % MONITORS:016x}", "status": "up", "name": f"Part {n % 300:03}"}
    )


def agents(root, first):
    for n in range(first, first + 100):
        lifecycle.create(root, f"host-{n:04}", ["linux", f"rack-{n % 20}"])


def users(root):
    for n in range(USERS):
        auth.users_of(root)[f"user-{n:03}"] = auth.User("viewer", "", 1_700_000_000 + n)


def checks(node):
    """A check an hour, the last day still open."""
    now = serieswork.now_ms(node)
    for day in range(now - DAYS * DAY, now, DAY):
        end = min(day + DAY, now)
        for at in range(day, end, HOUR):
            for number in range(1, MONITORS + 1):
                status = DOWN if secrets.randbelow(200) == 0 else UP
                node.series.journal.add(number, at, 20.0 + number, status, 3700)
        node.series.journal.pack(end)
        node.series.journal.settle(node.transact(node.series.flush))
        node.transact(lambda root, at: folds.fold(history_root(root), at, 730 * DAY), end)
        for step in (folds.merge, folds.seal):
            while node.transact(lambda root, at, step=step: step(history_root(root), at), end):
                pass
