"""How soon an outage is known: from the end of a target to the event that tells of the incident."""

import contextlib
import random
import tempfile
import time

from tests.bench import Row
from tests.support.monitors import MONITORS, checked
from tests.support.outages import Switch, event_stream
from tests.support.process import Serve
from tests.support.waiting import until

OUTAGES = 50
INTERVAL_S, RETRIES = 5, 1
BOUND_S = INTERVAL_S + RETRIES * INTERVAL_S / 4 + 1  # docs/guide/monitoring.md, and a second for the commit


def measure():
    dice = random.Random(3)
    with tempfile.TemporaryDirectory() as place, Serve(place) as serve, contextlib.ExitStack() as stack:
        switches = [stack.enter_context(Switch()) for _ in range(OUTAGES)]
        sites = {monitor_of(serve, site): site for site in switches}
        for monitor_id in sites:
            checked(serve, f"{MONITORS}/{monitor_id}", "up")
        heard, died = stack.enter_context(event_stream(serve, time.time)), {}
        for monitor_id, site in sites.items():
            time.sleep(dice.uniform(0, 0.4))  # the seeded moment of the outage
            died[monitor_id] = time.time()
            site.off()
        until(lambda: len(opened(heard)) >= OUTAGES, 20, what="all incidents")
    late = sorted(at - died[monitor_id] for monitor_id, at in opened(heard).items())
    yield Row("target down → incident told, median", late[len(late) // 2], "s")
    yield Row("target down → incident told, worst", late[-1], "s", f"at most {BOUND_S:g}")


def monitor_of(serve, site):
    body = {"name": f"site {site.port}", "type": "http", "url": f"http://127.0.0.1:{site.port}/", "timeout": 1}
    return serve.admin.post(MONITORS, body | {"interval": INTERVAL_S, "retries": RETRIES})["id"]


def opened(heard):
    incidents = [(data, at) for kind, data, at in list(heard) if kind == "incident"]
    return {data["monitor_id"]: at for data, at in incidents if data["change"] == "opened"}
