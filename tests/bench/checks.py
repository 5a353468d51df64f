"""Checks of http monitors with results stored: rate, CPU, lateness, memory, and the list of them all."""

import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench import Row
from tests.bench.load import load, request
from tests.support.process import Serve, free_port
from tests.support.waiting import until

MONITORS = int(os.environ.get("BENCH_MONITORS", "5000"))
INTERVAL = int(os.environ.get("BENCH_INTERVAL", "5"))
FIRST = 1000  # what a server with few monitors holds anyway
WINDOW_S = 30
CLIENTS = 10


class Nginx:
    """A target that costs next to nothing."""

    def __init__(self, directory):
        self.port, self.conf = free_port(), Path(directory) / "nginx.conf"
        temporary = "".join(
            f"{name}_temp_path {directory}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        self.conf.write_text(
            f"daemon off; worker_processes 1; pid {directory}/nginx.pid; events {{ worker_connections 8192; }}"
            f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{self.port} backlog=4096;"
            ' location / { return 200 "ok"; } } }'
        )

    def __enter__(self):
        self.child = subprocess.Popen(["nginx", "-e", "/dev/null", "-c", str(self.conf)])
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(10)


def measure():
    with tempfile.TemporaryDirectory() as place, Nginx(place) as target, Serve(place) as serve:
        until(lambda: metric(serve, "opsapp_uptime_seconds") > 2, what="a settled start")
        assert serve.admin.token
        began = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda n: register(serve, target, n), range(FIRST)))
            paused = time.monotonic()
            until(lambda: metric(serve, "opsapp_checks_total") > 2 * FIRST, 300, what="checks of the first")
            first, paused = resident(serve), time.monotonic() - paused
            list(pool.map(lambda n: register(serve, target, n), range(FIRST, MONITORS)))
        took = time.monotonic() - began - paused
        yield Row(f"{MONITORS:,} monitors registered by {CLIENTS} clients", took, "s", "10,000 in 60 s")
        until(lambda: metric(serve, "opsapp_checks_total") > 2 * MONITORS, 300, every=1, what="two rounds of checks")
        yield from steady(serve)
        further = (resident(serve) - first) / (MONITORS - FIRST) * 1000
        yield Row("memory per 1,000 monitors beyond the first", further, "MB", "at most 5")
        yield Row("memory with all of them", resident(serve), "MB")
        page = request("/api/monitoring/endpoints?limit=50&offset=500", serve.admin.token)
        listed = load((serve.host, serve.port), page)
        yield Row("a page of 50 of the list, 64 clients: requests a second", listed.rate, "/s")
        yield Row("a page of 50 of the list, one client: p99", one_by_one(serve), "ms", "at most 100")


def register(serve, target, n, interval=INTERVAL):
    serve.admin.post(
        "/api/monitoring/endpoints",
        {"name": f"m{n}", "type": "http", "url": f"http://127.0.0.1:{target.port}/{n}", "interval": interval,
         "timeout": interval - 1},
    )  # fmt: skip


def steady(serve):
    """What a stretch of nothing but checks costs."""
    began, cpu, checks = time.monotonic(), cpu_seconds(serve), metric(serve, "opsapp_checks_total")
    time.sleep(WINDOW_S)
    took, cpu = time.monotonic() - began, cpu_seconds(serve) - cpu
    checks = metric(serve, "opsapp_checks_total") - checks
    yield Row("checks a second, stored", checks / took, "/s")
    yield Row("of those that were due", 100 * checks / took / (MONITORS / INTERVAL), "%", "100")
    yield Row("CPU per 1,000 checks", cpu / checks * 1e6, "ms", "at most 150")
    yield Row("late p99", metric(serve, "opsapp_check_late_p99_seconds") * 1000, "ms", "under 100")


def one_by_one(serve):
    took = []
    for n in range(200):
        began = time.monotonic()
        serve.admin.get(f"/api/monitoring/endpoints?limit=50&offset={n * 20 % MONITORS}")
        took.append((time.monotonic() - began) * 1000)
    return sorted(took)[197]


def metric(serve, name):
    text = serve.admin.request("GET", "/metrics").body.decode()
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def cpu_seconds(serve):
    fields = Path(f"/proc/{serve.child.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(serve):
    for line in Path(f"/proc/{serve.child.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")
