"""A shared store against an embedded one, per check and per request; one engine process and two; two web processes."""

import contextlib
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import gevent

from opsapp.monitoring.engine import changes
from opsapp.monitoring.logic.settings import complete
from opsapp.runtime.clocks.clock import Clock
from tests.bench import Row
from tests.bench.checks import Nginx, metric, register
from tests.bench.load import heavy_load, load, request
from tests.support.app import Service
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.waiting import until

MONITORS = int(os.environ.get("BENCH_MONITORS", "1000"))  # of a server whose cost for each check is measured
MANY = int(os.environ.get("BENCH_MANY", "2500"))  # of each engine process, one and two of them
INTERVAL = 5
PAGE = 250  # monitors that are put into the store in a transaction
SETTLE_S = 12  # until a node that came or went is no news any more
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
    """Of a process; `PID/task/PID` is its first thread alone."""
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
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda number: register(serve, target, number, INTERVAL), range(count)))


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


class Spent(NamedTuple):
    """Seconds of processor since the beginning."""

    hubs: float  # the threads with the sockets and clocks
    others: float  # all other threads of the nodes
    store: float

    @classmethod
    def now(cls, nodes, server):
        hubs = sum(one_cpu(f"{node.child.pid}/task/{node.child.pid}") for node in nodes)
        return cls(hubs, cpu_of(*nodes) - hubs, cpu_of(server))

    def since(self, before, seconds):
        """A second, in milliseconds."""
        return Spent(*(1000 * (now - then) / seconds for now, then in zip(self, before, strict=True)))


class Working(NamedTuple):
    """Engine processes that make checks: milliseconds of processor, and checks."""

    rest: float  # a second, of all processes with nothing to check
    rate: float  # checks a second
    check: Spent  # each, beyond what is spent at rest

    def full(self, processes):
        """Checks a second, if each process has a core of its own."""
        return (1000 * processes - self.rest) / (self.check.hubs + self.check.others)


def spent_a_second(nodes, server):
    before, began = Spent.now(nodes, server), time.monotonic()
    time.sleep(WINDOW_S)
    return Spent.now(nodes, server).since(before, time.monotonic() - began)


def working(nodes, server, rest):
    """Beside what the same processes spent at rest."""
    before, began = made(nodes), time.monotonic()
    spent = spent_a_second(nodes, server)
    rate = (made(nodes) - before) / (time.monotonic() - began)
    check = Spent(*((now - idle) / rate for now, idle in zip(spent, rest, strict=True)))
    return Working(rest.hubs + rest.others, rate, check)


def made(nodes):
    return sum(metric(node, "opsapp_checks_total") for node in nodes)


def engines():
    for engine in ENGINES[1:]:
        with tempfile.TemporaryDirectory() as place, Nginx(place) as target, store_of(engine, place) as (server, uris):
            yield from scaling(engine, Path(place), target, server, uris)


def scaling(engine, place, target, server, uris):
    """One engine process, then two with twice the monitors, for the more a process does the less each check costs: what
    a check costs beyond the processes at rest, and what follows for two cores. The rate itself says that only on a
    machine with nothing else to do."""
    flags = {"data": place / "data", "roles": "engine,web", **uris}
    one, two = (Serve(place / name, node=name, **flags) for name in ("one", "two"))
    with one:
        two._admin = two.client(token=one.admin.token)
        with two:
            time.sleep(SETTLE_S)
            rest_of_two = spent_a_second((one, two), server)
        time.sleep(SETTLE_S)
        rest_of_one = spent_a_second((one,), server)
        put(uris, flags["data"], target, range(MANY))
        until(lambda: made((one,)) > 2 * MANY, 300, every=1, what="two rounds of checks")
        alone = working((one,), server, rest_of_one)
        with two:
            put(uris, flags["data"], target, range(MANY, 2 * MANY))
            until(lambda: keeps_up((one, two), 2 * MANY / INTERVAL), 300, every=1, what="as many checks as are due")
            both = working((one, two), server, rest_of_two)
    for name, figures, processes in (("one engine process", alone, 1), ("two", both, 2)):
        yield Row(f"{engine}, {name}: at rest, a second", figures.rest, "ms")
        yield Row(
            f"{engine}, {name}: checks a second", figures.rate, "/s", f"{processes * MANY / INTERVAL:,.0f} are due"
        )
        yield Row(f"{engine}, {name}: a check, event loop", figures.check.hubs, "ms")
        yield Row(f"{engine}, {name}: a check, other threads", figures.check.others, "ms")
        yield Row(f"{engine}, {name}: a check, the store's server", figures.check.store, "ms")
        yield Row(f"{engine}, {name}: checks a second with a core each", figures.full(processes), "/s")
    yield Row(f"{engine}: two against one, with a core each", both.full(2) / alone.full(1), "times", "at least 1.6")
    yield Row(f"{engine}: two against one, rates of this run", both.rate / alone.rate, "times")


def keeps_up(nodes, due):
    """A second, within the next few."""
    before, began = made(nodes), time.monotonic()
    time.sleep(INTERVAL)
    return (made(nodes) - before) / (time.monotonic() - began) > 0.95 * due


def put(uris, data, target, numbers):
    """Monitors straight into the store, some hundreds in a transaction: by requests it would take minutes. In `data` is
    the master key of the nodes."""
    stores = {"zodbconn.uri": uris["store"], "zodbconn.uri.history": uris["history_store"]}
    service = Service(data, clock=Clock(), **stores, **{"opsapp.data": str(data)})
    for first in range(0, len(numbers), PAGE):
        service.transact(_put_page, service.node, target.port, numbers[first : first + PAGE])
    service.close()


def _put_page(root, node, port, numbers):
    for n in numbers:
        given = {"name": f"m{n}", "type": "http", "url": f"http://127.0.0.1:{port}/{n}", "interval": INTERVAL}
        changes.create(root, complete(given), node.series.numbers.take()[0], node.clock.now())


def own_cpu():
    """Of this process, and of those that it has started and that have ended."""
    return sum(os.times()[:4])


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
        for node in nodes:  # it has what it needs in memory then
            load((node.host, node.port), request("/api/me", token), 16, 1)
        cpu, own, began = cpu_of(*nodes, server), own_cpu(), time.monotonic()
        asked = [gevent.spawn(heavy_load, (node.host, node.port), "/api/me", token, 64, WINDOW_S / 2) for node in nodes]
        gevent.joinall(asked, raise_error=True)
        rate = sum(each.value.rate for each in asked)
        done = rate * (time.monotonic() - began)
        yield Row("two web processes: reads a second", rate, "/s", "at least 8,000")
        yield Row("their p99", max(each.value.p99 for each in asked), "ms")
        yield Row("their processor for a read, the store's with it", 1000 * (cpu_of(*nodes, server) - cpu) / done, "ms")
        yield Row("the processor of who asks, for a read", 1000 * (own_cpu() - own) / done, "ms")
