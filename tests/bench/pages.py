"""Every page with 2,000 monitors and 1,000 agents, as an admin's browser asks for it: processor time, bytes sent,
elements (targets 150 ms, 60 kB, 3,000).

The real application without sockets, in the middle of its work. The heaviest page of each measure is named; what is
over its target has a row that says OVER. An open page asks for its parts when something has changed: the heaviest is
named too, and the figures at the top, which every page has. BENCH_ROWS=all names every page and part.
"""

import gc
import gzip
import os
import tempfile
import time
from dataclasses import replace
from typing import NamedTuple

from opsapp.healing.engine.default_rules import declare
from opsapp.monitoring.engine import changes, tally
from opsapp.monitoring.resources import monitors_of
from opsapp.ui.pages import PART
from opsapp.web.compression import LEVEL
from tests.bench import Row
from tests.bench.healing import fill_ledger
from tests.engine.healing import Ward
from tests.support import estate
from tests.support.monitoring import DOWN, UP, Lookout

MONITORS, AGENTS, LEDGER, TIMES = 2000, 1000, 500, 5
PUBLIC, DOWN_MONITORS, SILENT, INTERVAL_S = 50, 40, 20, 300
REPORT = {
    "os": "Debian 12",
    "mem_percent": 40,
    "disk_percent": 71.5,
    "uptime_s": 3600,
    "disks": {"/": 71.5, "/var": 12},
}
FIRST = {"name": "a-first", "type": "http", "url": "http://first.example/", "interval": 300, "retries": 0}
CHANGES, APART_S = 20, 15
EVERY_ROW = os.environ.get("BENCH_ROWS") == "all"
COUNTS = "counts"


class Cost(NamedTuple):
    """Of one answer; the names are the units."""

    ms: float
    kB: float
    elements: int


TARGETS = Cost(150, 60, 3000)


def measure():
    with tempfile.TemporaryDirectory() as place:
        ward = Ward(place)
        service = ward.service
        lookout = fill(ward)
        gc.collect()
        gc.freeze()  # as the server does before it serves
        browser = service.browser("ada")
        pages = {address: cost(browser, address) for address in estate.addresses(service)}
        for number, unit in enumerate(Cost._fields):
            yield from worst(
                "page ", {address: costs[number] for address, costs in pages.items()}, unit, TARGETS[number]
            )
        parts = {(part, page): cost(browser, page, part).ms for page in pages for part in live_parts(browser, page)}
        blocks = {f"{part} of {page}": spent for (part, page), spent in parts.items() if part != COUNTS}
        yield from worst("part ", blocks, "ms", TARGETS.ms)
        tops = {page: spent for (part, page), spent in parts.items() if part == COUNTS}
        yield from worst("figures at the top, asked for by ", tops, "ms", 2)
        yield Row("figures at the top, once per change", counts(service, lookout), "ms", "under 1")
        service.close()


def worst(what, found, unit, target):
    """The heaviest, and all that is over the target."""
    ranked = sorted(((figure, name) for name, figure in found.items()), reverse=True)
    for place, (figure, name) in enumerate(ranked):
        if place == 0 or figure > target or EVERY_ROW:
            yield Row(what + name, figure, unit, f"under {target}")


def fill(ward):
    """One of each kind of thing; all monitors looked at, some down; all hosts have reported, some are silent since."""
    service = ward.service
    estate.fill(ward)
    ward.configure(default_rules=True)
    service.transact(declare, ward.node.config)
    service.transact(fill_ledger, 0, LEDGER)
    monitor = service.otto.post_json("/api/monitoring/endpoints", FIRST).json["id"]
    service.transact(add_monitors, monitor, service.clock.now())
    names = [f"box-{number:04}" for number in range(AGENTS)]
    hosts = [(name, service.ada.post_json("/api/agents", {"label": name}).json) for name in names]
    report(service, hosts)
    lookout = Lookout(service)
    lookout.sees = {each: UP for each in service.read(lambda root: list(monitors_of(root)))}
    lookout.sees |= dict.fromkeys(list(lookout.sees)[:DOWN_MONITORS], DOWN)
    lookout.run(INTERVAL_S, step=10)
    report(service, hosts[SILENT:])
    return lookout


def report(service, hosts):
    for number, (hostname, host) in enumerate(hosts):
        measured = REPORT | {"hostname": hostname, "cpu_percent": number % 100}
        headers = {"X-Agent-Key": host["key"]}
        service.anonymous.post_json(f"/api/agents/{host['agent_id']}/report", measured, headers=headers)


def add_monitors(root, like, now, url=None):
    settings = monitors_of(root)[like].record
    for n in range(MONITORS):
        tags = ("public",) if n < PUBLIC else ()
        another = replace(settings, name=f"m{n:04}", url=url or f"http://m{n}.example/", tags=tags)
        changes.create(root, another, 1000 + n, now)


def cost(browser, address, part=None):
    """Of a page, or of one part of it; the first answer warms up."""
    headers = {"Accept-Encoding": "gzip"} | ({PART: part} if part else {})
    answer = browser.get(address, headers=headers)
    began = time.process_time()
    for _ in range(TIMES):
        browser.get(address, headers=headers)
    spent = 1000 * (time.process_time() - began) / TIMES
    return Cost(spent, len(gzip.compress(answer.body, LEVEL)) / 1000, len(answer.html.find_all()))


def live_parts(browser, address):
    """What this page asks for anew when something has changed."""
    return [part["id"] for part in browser.get(address).html.select("[data-live][id]:not([data-live-from])")]


def counts(service, lookout):
    """What the figures at the top cost when they are reckoned anew: a monitor fell or rose, and others were checked."""
    entries, times = lookout.watch.register.entries, []
    for number, entry in enumerate(list(entries.values())[-CHANGES:]):
        lookout.run(APART_S, step=APART_S)
        lookout.watch.take(entry, (DOWN, UP)[number % 2], service.clock.now())
        began = time.process_time()
        service.read(lambda root: tally(service.node, root))
        times.append(1000 * (time.process_time() - began))
    return sorted(times)[len(times) // 2]
