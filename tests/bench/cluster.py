"""A shared store against an embedded one, per check and per request; one engine process and two; two web processes."""

import contextlib
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import gevent

from tests.bench import Row
from tests.bench.checks import Nginx, metric, register
from tests.bench.load import load, request
from tests.support.client import Refused
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.waiting import until

MONITORS = int(os.environ.get("BENCH_MONITORS", "1000"))  # of a server whose cost for each check is measured
MANY = int(os.environ.get("BENCH_MANY", "10000"))  # more than one engine process can check
INTERVAL = 5
WINDOW_S = float(os.environ.get("BENCH_WINDOW", "20"))
CLIENTS = 4
ENGINES = ("file", "zeo", "postgresql")


class Costs(NamedTuple):
    """Milliseconds of processor, of the node and of the store's server together."""

    check: float
    read: float
    write: float
    reads: float  # a second


@contextlib.contextmanager
def store_of(engine, place):
    """(the store's server or None, the flags of a node)."""
    if engine == "file":
        yield None, {}
        return
    with Zeo(Path(place) / "zeo", cuts=True) if engine == "zeo" else Postgres() as server:
        yield server, server.uris()


def cpu_of(*processes):
    return sum(sum(map(one_cpu, each.processes())) if hasattr(each, "processes") else each.cpu_s()
               for each in processes if each)  # fmt: skip


def one_cpu(pid):
    with contextlib.suppress(FileNotFoundError):  # a session of the database that has ended
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def during(count, processes, seconds=WINDOW_S):
    """(how many a second, milliseconds of processor for each)."""
    began, cpu, before = time.monotonic(), cpu_of(*processes), count()
    time.sleep(seconds)
    done = max(1, count() - before)
    return done / (time.monotonic() - began), 1000 * (cpu_of(*processes) - cpu) / done


def fill(serve, target, count):
    """A machine that does other work as well lets a commit wait too long: such a write is tried again."""

    def add(number):
        while True:
            try:
                return register(serve, target, number, INTERVAL)
            except Refused as refused:
                if refused.answer.status != 503:
                    raise

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(add, range(count)))


def costs(engine):
    with tempfile.TemporaryDirectory() as place, Nginx(place) as target, store_of(engine, place) as (server, uris):
        with Serve(Path(place) / "node", node="one", **uris) as serve:
            address, token, both = (serve.host, serve.port), serve.admin.token, (serve, server)
            cpu = cpu_of(*both)
            reads = load(address, request("/api/me", token), seconds=WINDOW_S / 2)
            read = 1000 * (cpu_of(*both) - cpu) / (reads.rate * (WINDOW_S / 2 + 0.5))  # half a second does not count
            cpu = cpu_of(*both)
            fill(serve, target, MONITORS)
            write = 1000 * (cpu_of(*both) - cpu) / MONITORS
            until(
                lambda: metric(serve, "opsapp_checks_total") > 2 * MONITORS, 300, every=1, what="two rounds of checks"
            )
            _, check = during(lambda: metric(serve, "opsapp_checks_total"), both)
        return Costs(check, read, write, reads.rate)


def measure():
    found = {engine: costs(engine) for engine in ENGINES}
    for engine in ENGINES:
        yield Row(f"{engine}: processor for a check, stored", found[engine].check, "ms")
        yield Row(f"{engine}: processor for a request that reads", found[engine].read, "ms")
        yield Row(f"{engine}: processor for a request that writes", found[engine].write, "ms")
        yield Row(f"{engine}: reads a second, one process", found[engine].reads, "/s")
    for engine in ENGINES[1:]:
        for what in ("check", "read", "write"):
            ratio = getattr(found[engine], what) / getattr(found["file"], what)
            yield Row(f"{engine} against file: a {what}", ratio, "times")
    yield from engines()
    yield from webs()


def engines():
    """On ZEO, with more monitors than one process can check."""
    rates = []
    with tempfile.TemporaryDirectory() as place, Nginx(place) as target, store_of("zeo", place) as (_server, uris):
        flags = {"data": Path(place) / "data", "roles": "engine,web", **uris}
        with Serve(Path(place) / "one", node="one", **flags) as one:
            fill(one, target, MANY)
            until(lambda: metric(one, "opsapp_checks_total") > MANY, 300, every=1, what="a round of checks")
            rate, cost = during(lambda: metric(one, "opsapp_checks_total"), (one,))
            rates.append(rate)
            yield Row(f"one engine process, {MANY:,} monitors: checks a second", rate, "/s")
            yield Row("its processor for a check", cost, "ms")
            with Serve(Path(place) / "two", node="two", **flags) as two:
                two._admin = two.client(token=one.admin.token)
                time.sleep(2 * INTERVAL)
                both = (one, two)
                rate, cost = during(lambda: sum(metric(node, "opsapp_checks_total") for node in both), both)
                rates.append(rate)
                yield Row("two engine processes: checks a second", rate, "/s")
                yield Row("their processor for a check", cost, "ms")
    yield Row("two against one", rates[1] / rates[0], "times", "at least 1.6")


def webs():
    """Two web processes on ZEO, and who asks them, on the same machine."""
    with (
        tempfile.TemporaryDirectory() as place,
        store_of("zeo", place) as (server, uris),
        contextlib.ExitStack() as all_,
    ):
        flags = {"data": Path(place) / "data", "roles": "web", **uris}
        nodes = [all_.enter_context(Serve(Path(place) / name, node=name, **flags)) for name in ("one", "two")]
        token = nodes[0].admin.token
        cpu, own = cpu_of(*nodes, server), time.process_time()
        asked = [
            gevent.spawn(load, (node.host, node.port), request("/api/me", token), 64, WINDOW_S / 2) for node in nodes
        ]
        gevent.joinall(asked, raise_error=True)
        rate = sum(each.value.rate for each in asked)
        done = rate * (WINDOW_S / 2 + 0.5)
        yield Row("two web processes: reads a second", rate, "/s", "at least 8,000")
        yield Row("their p99", max(each.value.p99 for each in asked), "ms")
        yield Row("their processor for a read, the store's with it", 1000 * (cpu_of(*nodes, server) - cpu) / done, "ms")
        yield Row("the processor of who asks, for a read", 1000 * (time.process_time() - own) / done, "ms")
