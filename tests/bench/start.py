"""The start of a server after kill -9 on a store that has been in use: until the first answer (target 2 s).

1,000 agents, 300 monitors with a month of checks behind them, 300 users, 50,000 audit entries, 20,000 of the ledger.
"""

import secrets
import tempfile
from pathlib import Path

from opsapp.agents.engine import lifecycle
from opsapp.auth import resources as auth
from opsapp.runtime import measuring
from opsapp.runtime.clock import Clock
from opsapp.series import folding
from opsapp.series.history import history_root
from opsapp.series.observations import DOWN, UP
from opsapp.series.rollup import DAY
from tests.bench import Row
from tests.bench.audit import fill as fill_audit
from tests.bench.healing import fill_ledger
from tests.support.app import Service
from tests.support.process import Serve

AGENTS, MONITORS, USERS, AUDIT, LEDGER, DAYS = 1_000, 300, 300, 50_000, 20_000, 30
HOUR = 3_600_000
STARTS = 7


def measure():
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        data.mkdir()
        service = Service(data, clock=Clock())
        fill(service)
        service.close()
        yield Row("the store", sum(path.stat().st_size for path in data.glob("*.fs")) / 1e6, "MB")
        serve = Serve(place, data=data, config={"monitoring": {"allow_networks": ["127.0.0.0/8"]}})
        starts = []
        for _ in range(STARTS):
            for index in data.glob("*.index"):  # as after a long life: ZODB writes one when a store is closed
                index.unlink()
            starts.append(serve.start())
            serve.kill()
        yield Row("start after kill -9, median", sorted(starts)[STARTS // 2], "s", "under 2")
        yield Row("start after kill -9, worst", max(starts), "s", "under 2")


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


def agents(root, first):
    for n in range(first, first + 100):
        lifecycle.create(root, f"host-{n:04}", ["linux", f"rack-{n % 20}"])


def users(root):
    for n in range(USERS):
        auth.users_of(root)[f"user-{n:03}"] = auth.User("viewer", "", 1_700_000_000 + n)


def checks(node):
    """A check an hour, the last day still open."""
    now = measuring.now_ms(node)
    for day in range(now - DAYS * DAY, now, DAY):
        end = min(day + DAY, now)
        for at in range(day, end, HOUR):
            for number in range(1, MONITORS + 1):
                status = DOWN if secrets.randbelow(200) == 0 else UP
                node.series.journal.add(number, at, 20.0 + number, status, 3700)
        node.series.journal.pack(end)
        node.series.journal.settle(node.transact(node.series.flush))
        node.transact(lambda root, at: folding.fold(history_root(root), at, 730 * DAY), end)
        for step in (folding.merge, folding.seal):
            while node.transact(lambda root, at, step=step: step(history_root(root), at), end):
                pass
