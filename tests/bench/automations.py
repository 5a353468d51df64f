"""Runs a second of a trivial script, the way from the POST to the process, the minute tick of 10,000 schedules."""

import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opsapp.automations.engine.carrier import take_up
from opsapp.automations.engine.schedules import LEASE, Scheduler
from tests.bench import Row
from tests.support.app import Service
from tests.support.automations import FINAL, ended, run, script
from tests.support.client import Client
from tests.support.clock import FakeClock
from tests.support.process import Serve

STARTS, RUNS, SCHEDULES = 60, 300, 10_000
MINUTE = 1_800_000_000 // 60 * 60


def measure():
    with tempfile.TemporaryDirectory() as place:
        with Serve(place, config={"automations": {"max_running": 8}}) as serve:
            yield from starts(serve, Path(place))
            yield from rate(serve)
    for what, expression in (("spread over the day", None), ("all due in one minute", "0 * * * *")):
        with tempfile.TemporaryDirectory() as place:
            yield from ticks(place, what, expression)


def starts(serve, place):
    """Idle: from just before the POST to what the process itself says of its start."""
    automation, found = script(serve, f"date +%s.%N > {place}/began"), []
    for _ in range(STARTS):
        asked = time.time()
        ended(serve, run(serve, automation))
        found.append(1000 * (float((place / "began").read_text()) - asked))
    found.sort()
    yield Row("POST to process start, idle: p50", found[len(found) // 2], "ms")
    yield Row("POST to process start, idle: p99", found[int(len(found) * 0.99)], "ms", "at most 200")


def rate(serve):
    """Eight automations at once, from the first POST to the last end."""
    automations = [script(serve, "true", name=f"trivial {n}") for n in range(8)]
    before, began = serve.cpu_s(), time.monotonic()
    clients = threading.local()

    def ask(n):
        if not hasattr(clients, "one"):
            clients.one = Client(serve.url, token=serve.admin.token)
        return clients.one.post(f"/api/automations/{automations[n % 8]}/run")["run_id"]

    with ThreadPoolExecutor(2) as pool:
        asked = set(pool.map(ask, range(RUNS)))
    while True:
        rows = serve.admin.get("/api/automations/runs?limit=1000")
        if {row["status"] for row in rows if row["run_id"] in asked} <= FINAL:
            break
        time.sleep(0.3)
    yield Row("runs of a trivial script", RUNS / (time.monotonic() - began), "/s")
    yield Row("processor of the server for one of them", 1000 * (serve.cpu_s() - before) / RUNS, "ms")


def ticks(place, what, expression):
    clock, chance = FakeClock(MINUTE - 1800), random.Random(1)
    service = Service(place, clock)
    service.node.leases.want(LEASE)
    body = {"name": "x", "type": "notification", "params": {"title": "x"}}
    listed = [
        {**body, "schedule": expression or f"{chance.randrange(60)} {chance.randrange(24)} * * *"}
        for _ in range(SCHEDULES)
    ]
    service.otto.post_json("/api/automations/import", listed)
    scheduler = Scheduler(service.node)
    service.node.leases.step()
    began = time.process_time()
    scheduler.step()
    yield Row(f"10,000 schedules, {what}: processor to load", time.process_time() - began, "s")
    spent, late = [], []
    for minute in range(30 if expression is None else 1):
        clock.advance(MINUTE + 60 * minute - clock.now())
        service.node.leases.step()
        began, came = time.process_time(), time.monotonic()
        while scheduler.step():
            late.append(time.monotonic() - came)  # of this page: its runs are committed now
        spent.append(time.process_time() - began)
    yield Row(f"10,000 schedules, {what}: processor of a minute's tick", max(spent), "s", "at most 1")
    began = time.process_time()
    while service.transact(take_up, "bench", frozenset(), 0)[1]:
        pass
    yield Row(f"10,000 schedules, {what}: processor of what they began", time.process_time() - began, "s")
    yield Row(f"10,000 schedules, {what}: lateness p99", sorted(late)[int(len(late) * 0.99)], "s", "at most 1")
    service.close()
