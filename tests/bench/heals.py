"""Heals a second in a cluster: what one costs where it is decided and elsewhere, on one node and on three (ZEO).

Hosts poll the nodes in turn; on each a service fails again and again, is restarted and verified. The same hosts polling
with nothing wrong are measured first and taken off. BENCH_HOSTS, BENCH_WINDOW.
"""

import contextlib
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from opsapp.runtime.internals import read_only_file
from tests.bench import Row
from tests.bench.cluster import cpu_of, store_of
from tests.support.box import Box
from tests.support.process import Serve
from tests.support.waiting import until

HOSTS = int(os.environ.get("BENCH_HOSTS", "24"))
NODES = tuple(map(int, os.environ.get("BENCH_NODES", "1 3").split()))
WINDOW_S = float(os.environ.get("BENCH_WINDOW", "20"))
WELL_S = 4.0  # between a cure and the next failure: what fails before it was verified counts against the rule
WIDE = {"max_heals_per_hour": {"fleet": 10**6, "site": 10**6, "rule": 10**6}, "max_unhealthy_percent": 100}
RULE = {
    "id": "nginx",
    "condition": 'service.nginx.state == "failed"',
    "action": {"type": "restart_service"},
    "initial_level": "notify",
    "settle_s": 0,
    "cooldown_s": 0,
}
CONFIG = {
    "agents": {"report_interval_s": 1},
    "healing": {"default_rules": False, "hold_s": 0, "brake": WIDE, "rules": [RULE]},
}


class FailingBox(Box):
    """Its service fails again a moment after it was restarted, once `fails` is set."""

    fails = False
    _well_since = 0.0

    def _report(self):
        if self.fails and self.state == "active" and time.monotonic() - self._well_since > WELL_S:
            self.state = "failed"
        super()._report()

    def _perform(self, command):
        answer = super()._perform(command)
        self._well_since = time.monotonic()
        return answer


class Heals(NamedTuple):
    rate: float  # a second, final entries of the ledger
    decides: float  # ms of processor for a heal: the node that holds the lease, taken as the one that spends most
    others: float  # each of the other nodes
    store: float
    commits: float  # of all nodes
    verified: float  # the share of them


def measure():
    for nodes in NODES:
        heals = healing(nodes)
        name = "one node" if nodes == 1 else f"{nodes} nodes"
        yield Row(f"{name}, {HOSTS} hosts: heals a second", heals.rate, "/s")
        yield Row(f"{name}: of those verified", 100 * heals.verified, "%")
        yield Row(f"{name}: a heal, the node that decides", heals.decides, "ms")
        if nodes > 1:
            yield Row(f"{name}: a heal, each other node", heals.others, "ms")
        yield Row(f"{name}: a heal, the store's server", heals.store, "ms")
        yield Row(f"{name}: a heal, commits", heals.commits, "")
        yield Row(f"{name}: heals a second that fill a core", 1000 / heals.decides, "/s")


def healing(count):
    with contextlib.ExitStack() as all_:
        place = Path(all_.enter_context(tempfile.TemporaryDirectory()))
        server, uris = all_.enter_context(store_of("zeo", place))
        flags = {"config": CONFIG, "data": place / "data", **uris}
        nodes = [Serve(place / f"n{n}", node=f"n{n}", **flags) for n in range(count)]
        for node in nodes:
            all_.enter_context(node)
        admin = nodes[0].admin
        boxes = [connected(admin, nodes[n % count], n) for n in range(HOSTS)]
        for box in boxes:
            all_.callback(box.stop)
        until(lambda: len(admin.get("/api/agents?status=online")) == HOSTS, what="all hosts being online")
        admin.post("/api/healing/trust/nginx/promote", {"level": "execute"})
        polling, commits_before, _, _ = spent(nodes, server, admin)
        for box in boxes:
            box.fails = True
        until(lambda: finals(admin) >= 2 * HOSTS, 120, what="two heals of each host")
        heals, commits, rate, verified = spent(nodes, server, admin)
    *others, decides = sorted((now - idle) / rate for now, idle in zip(heals[:-1], polling[:-1], strict=True))
    store = (heals[-1] - polling[-1]) / rate
    commits = (commits - commits_before) / rate
    return Heals(rate, decides, sum(others) / max(1, len(others)), store, commits, verified)


def _made(admin, n):
    """None: a commit waited too long, as it may on a machine that does much else."""
    answer = admin.request("POST", "/api/agents", {"label": f"host-{n}"})
    return answer.json if answer.status == 201 else None


def connected(admin, node, n):
    made = until(lambda: _made(admin, n), 60, what="a new agent")
    return FailingBox(node.url, made["agent_id"], made["key"], hostname=f"host-{n}", every=0.25).start()


def spent(nodes, server, admin):
    """A second: milliseconds of processor of each node and of the store, commits, heals; and the share verified."""
    each = (*nodes, server)
    commits = commits_of(server)
    began, before, cpu = time.monotonic(), finals(admin), [cpu_of(one) for one in each]
    time.sleep(WINDOW_S)
    took, done = time.monotonic() - began, finals(admin) - before
    rows = admin.get("/api/healing/ledger?limit=200")
    ended = [row for row in rows if row["state"] == "final"]
    verified = sum(row["outcome"] == "verified" for row in ended) / max(1, len(ended))
    used = [1000 * (cpu_of(one) - then) / took for one, then in zip(each, cpu, strict=True)]
    return used, (commits_of(server) - commits) / took, done / took, verified


def commits_of(server):
    """Of the tree, since the store was made."""
    storage = read_only_file(server.directory / "main.fs")
    count = sum(1 for _ in storage.iterator())
    storage.close()
    return count


def finals(admin):
    answer = admin.request("GET", "/api/healing/ledger?limit=1")
    return int(answer.headers["x-total-count"])
