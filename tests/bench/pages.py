"""Every page with 2,000 monitors and 1,000 agents: processor time, bytes sent, elements (targets 150 ms, 60 kB, 3,000).

The real application without sockets. The heaviest page of each measure is named; what is over a target has a row.
"""

import gc
import gzip
import tempfile
import time

from opsapp.monitoring.engine import changes, status_counts
from opsapp.monitoring.resources import monitors_of
from opsapp.ui.plan import PAGES
from opsapp.web.packing import LEVEL
from tests.bench import Row
from tests.support.app import Service
from tests.support.monitoring import DOWN, UP, Lookout

MONITORS, AGENTS, TIMES = 2000, 1000, 5
DOWN_MONITORS, INTERVAL_S = 40, 300
REPORT = {
    "os": "Debian 12",
    "mem_percent": 40,
    "disk_percent": 71.5,
    "uptime_s": 3600,
    "disks": {"/": 71.5, "/var": 12},
}
TARGETS = {"ms": 150, "kB": 60, "elements": 3000}
FIRST = {"name": "a-first", "type": "http", "url": "http://shop.example/", "interval": 300, "retries": 0}


def measure():
    with tempfile.TemporaryDirectory() as place:
        service = Service(place)
        ids = fill(service)
        gc.collect()
        gc.freeze()  # as the server does before it serves
        found = {}
        for page in PAGES:
            address = address_of(page, ids)
            if address is not None:
                found[page.path] = cost(service, address)
        for n, (unit, target) in enumerate(TARGETS.items()):
            worst = sorted(((costs[n], path) for path, costs in found.items()), reverse=True)
            for value, path in worst[:1] + [each for each in worst[1:] if each[0] > target]:
                yield Row(f"page {path}", value, unit, f"under {target}")
        yield Row("counts of the header, once per change", counts(service), "ms", "under 1")
        service.close()


def fill(service):
    """All monitors looked at, some of them down; all hosts with a report."""
    monitor = service.otto.post_json("/api/monitoring/endpoints", FIRST).json["id"]
    service.transact(add_monitors, monitor, service.clock.now())
    hosts = [service.ada.post_json("/api/agents", {"label": f"box-{n:04}"}).json for n in range(AGENTS)]
    for number, host in enumerate(hosts):
        report = REPORT | {"hostname": f"box-{number:04}", "cpu_percent": number % 100}
        headers = {"X-Agent-Key": host["key"]}
        service.anonymous.post_json(f"/api/agents/{host['agent_id']}/report", report, headers=headers)
    lookout = Lookout(service)
    lookout.sees = {each: UP for each in service.read(lambda root: list(monitors_of(root)))}
    lookout.sees |= dict.fromkeys(list(lookout.sees)[:DOWN_MONITORS], DOWN)
    lookout.run(INTERVAL_S, step=10)
    incident = lookout.incidents("limit=1")[0]["id"]
    rule = service.vera.get("/api/healing/rules?limit=1").json[0]["id"]
    ids = {"/monitors/{id}": monitor, "/agents/{id}": hosts[0]["agent_id"], "/incidents/{id}": incident}
    return ids | {"/healing/rules/{rule_id}": rule}


def add_monitors(root, like, now):
    settings = monitors_of(root)[like].settings
    for n in range(MONITORS):
        changes.create(root, settings | {"name": f"m{n:04}", "url": f"http://m{n}.example/"}, 1000 + n, now)


def address_of(page, ids):
    above, _, below = page.path.partition("{")
    known = next((ids[path] for path in ids if path.startswith(above + "{")), None) if below else None
    if page.file or (below and known is None) or "{" in below:
        return None
    return above + known + below.partition("}")[2] if below else page.path


def cost(service, address):
    """(ms of processor, kB as sent, elements); the first answer warms up."""
    answer = service.ada.get(address, status=(200, 404))
    began = time.process_time()
    for _ in range(TIMES):
        service.ada.get(address, status=(200, 404))
    spent = 1000 * (time.process_time() - began) / TIMES
    return spent, len(gzip.compress(answer.body, LEVEL)) / 1000, len(answer.html.find_all())


def counts(service):
    """What the figures at the top cost when they are reckoned anew."""
    times = []
    for _ in range(50):
        began = time.process_time()
        service.read(lambda root: status_counts(service.node, root))
        times.append(1000 * (time.process_time() - began))
    return sorted(times)[len(times) // 2]
