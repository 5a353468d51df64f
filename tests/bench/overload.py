"""What a viewer's GET /api/me takes while there is too much of something: webhooks, alerts, events to streams."""

import contextlib
import json
import subprocess
import sys
import tempfile
import time

import gevent
from gevent import socket

from tests.bench import Row
from tests.bench.load import answer, percentile, request
from tests.support.process import Serve

STREAMS, EVENTS = 2000, 50
HOSTS, SERVICES = 20, 500
CALLERS, STORM_S = 50, 5.0
TARGET = "at most 250"
CONFIG = {
    "automations": {"webhook_calls_per_minute": 100_000},
    "web": {"limits": {"streams_per_user": STREAMS, "agents_share": 0}},
}
# In a process of its own: what the load costs here is no part of what is measured.
ASKS = """
import http.client, json, sys, time
port, token, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
link, took, end = http.client.HTTPConnection("127.0.0.1", port, timeout=60), [], time.perf_counter() + seconds
while time.perf_counter() < end:
    began = time.perf_counter()
    link.request("GET", "/api/me", headers={"Authorization": "Bearer " + token})
    link.getresponse().read()
    took.append((time.perf_counter() - began) * 1000)
    time.sleep(0.01)
print(json.dumps(took))
"""


@contextlib.contextmanager
def asking(serve, seconds):
    """Ask `/api/me` for so long while the body of the `with` runs; the milliseconds come into the list."""
    words = [sys.executable, "-c", ASKS, str(serve.port), serve.admin.token, str(seconds)]
    took = []
    with subprocess.Popen(words, stdout=subprocess.PIPE) as asks:
        time.sleep(0.3)
        yield took
        took += json.loads(asks.communicate()[0])


def rows(what, took):
    yield Row(f"{what}: GET /api/me, median", percentile(took, 50), "ms")
    yield Row(f"{what}: GET /api/me, p99", percentile(took, 99), "ms", TARGET)


def storm(serve, path):
    """So many callers of one webhook; how many calls were answered."""
    calls, end = 0, time.perf_counter() + STORM_S

    def call():
        nonlocal calls
        link, buffer = socket.create_connection(("127.0.0.1", serve.port)), b""
        while time.perf_counter() < end:
            link.sendall(request(path, method="POST", body=b"{}"))
            _, buffer = answer(link, buffer)
            calls += 1

    gevent.joinall([gevent.spawn(call) for _ in range(CALLERS)], raise_error=True)
    return calls


def reports(serve, agents, state):
    """Every host says in one moment how its services are."""
    told = {"os": "Linux", "cpu_percent": 1, "mem_percent": 1, "disk_percent": 1, "uptime_s": 1}

    def report(number, agent):
        services = {f"unit-{n}": state for n in range(SERVICES)}
        body = json.dumps({**told, "hostname": f"host-{number}", "machine_id": f"m{number}", "services": services})
        link = socket.create_connection(("127.0.0.1", serve.port))
        path = f"/api/agents/{agent['agent_id']}/report"
        link.sendall(request(path, method="POST", body=body.encode(), headers=(f"X-Agent-Key: {agent['key']}",)))
        status, _ = answer(link, b"")
        assert status == 200, status

    gevent.joinall([gevent.spawn(report, *pair) for pair in enumerate(agents)], raise_error=True)


def streams(serve):
    """Readers of /api/stream, each past its first bytes, who read whatever comes."""
    links = []

    def read(link):
        with contextlib.suppress(OSError):
            while link.recv(65536):
                pass

    def opened():
        link = socket.create_connection(("127.0.0.1", serve.port), timeout=60)
        link.sendall(request("/api/stream", serve.admin.token))
        link.recv(4096)
        link.settimeout(None)
        links.append(link)
        gevent.spawn(read, link)

    for _ in range(0, STREAMS, 200):
        gevent.joinall([gevent.spawn(opened) for _ in range(200)], raise_error=True)
    return links


def measure():
    with tempfile.TemporaryDirectory() as place, Serve(place, CONFIG) as serve:
        with asking(serve, 5) as took:
            gevent.sleep(5)
        yield from rows("nothing else", took)
        body = {"name": "storm", "type": "notification", "params": {"title": "so", "message": "so", "channels": []}}
        made = serve.admin.post("/api/automations", body)
        with asking(serve, STORM_S) as took:
            calls = storm(serve, made["webhook_url"])
        yield Row("a storm of webhooks: calls answered", calls / STORM_S, "/s")
        yield from rows("a storm of webhooks", took)
        agents = [serve.admin.post("/api/agents", {"label": f"host-{n}"}) for n in range(HOSTS)]
        reports(serve, agents, "active")
        gevent.sleep(3)
        with asking(serve, 15) as took:
            reports(serve, agents, "failed")
            gevent.sleep(14)
        yield from rows(f"{HOSTS * SERVICES:,} alerts at once", took)
    with tempfile.TemporaryDirectory() as place, Serve(place, CONFIG) as serve:
        links = streams(serve)
        monitor = {"name": "m", "type": "push"}
        made = [serve.admin.post("/api/monitoring/endpoints", monitor | {"name": f"m{n}"})["id"] for n in range(EVENTS)]
        gevent.sleep(2)
        with asking(serve, 6) as took:
            for n, each in enumerate(made):
                serve.admin.put(f"/api/monitoring/endpoints/{each}", {"name": f"n{n}"})
            gevent.sleep(5)
        yield from rows(f"{EVENTS * STREAMS:,} events to {STREAMS:,} streams", took)
        for link in links:
            link.close()
