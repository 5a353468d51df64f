"""An import of 5,000 monitors of Uptime Kuma into a running server: how long, in how much memory, and how long others
wait meanwhile. BENCH_DAYS: days of history that each monitor has (60)."""

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import Row
from tests.bench.years import Listening, Other, memory_mb, processor_ms
from tests.support import kumadatabase
from tests.support.process import Serve

MONITORS, DAYS = int(os.environ.get("BENCH_MANY", "5000")), int(os.environ.get("BENCH_DAYS", "60"))
DAY_S = 86_400


def measure():
    config = {"monitoring": {"allow_networks": ["127.0.0.0/8"]}}
    with tempfile.TemporaryDirectory() as place, Listening() as target, Serve(place, config=config) as serve:
        database = many(Path(place) / "kuma.db", target.link.getsockname()[1])
        yield Row("the server's memory before", memory_mb(serve), "MB")
        for name, more in (("a look", ["--dry-run"]), ("the import", []), ("the same once more", [])):
            yield from taken(serve, database, name, more)
        yield Row("the server's memory afterwards", memory_mb(serve), "MB")


def taken(serve, database, name, more):
    words = [sys.executable, "-m", "opsapp.cli", "import", "--from", "kuma", str(database), "--url", serve.url, *more]
    known = os.environ | {"OPSAPP_TOKEN": serve.admin.token}
    ended = []

    def run():
        ended.append(subprocess.run(words, env=known, capture_output=True, text=True))

    spent, began = processor_ms(serve.child.pid), time.monotonic()
    with Other(serve.host, serve.port, serve.admin.token) as other:
        wait = other.longest_while(run)
    yield Row(f"{name}: {last_line(ended[0])}", time.monotonic() - began, "s")
    yield Row(f"{name}: processor of the server", (processor_ms(serve.child.pid) - spent) / 1000, "s")
    yield Row(f"{name}: longest wait of another", wait, "ms")
    yield Row("the most memory of a command", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000, "MB")


def last_line(ended):
    lines = (ended.stdout + ended.stderr).strip().splitlines()
    return lines[-1] if lines else f"ended with {ended.returncode}"


def many(path, port):
    """The broad database, with thousands of plain monitors beside its entries, each with its days."""
    kumadatabase.make(path)
    with sqlite3.connect(path) as file:
        (first,) = file.execute("SELECT max(id) + 1 FROM monitor").fetchone()
        file.executemany(
            "INSERT INTO monitor(id, name, type, hostname, port, parent) VALUES (?, ?, 'port', '127.0.0.1', ?, 1)",
            [(n, f"many {n}", port) for n in range(first, first + MONITORS)],
        )
        file.executemany(
            "INSERT INTO stat_daily(monitor_id, timestamp, ping, up, down) VALUES (?, ?, 10, 1430, 10)",
            [
                (n, kumadatabase.FIRST_DAY - ago * DAY_S)
                for n in range(first, first + MONITORS)
                for ago in range(1, DAYS + 1)
            ],
        )
    return path
