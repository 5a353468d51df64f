"""How long leases are without a holder when it is killed: again and again, two nodes in turn, with writes going on."""

import contextlib
import os
import tempfile
import time
from pathlib import Path

from tests.support.leases import lease_book
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.waiting import until
from tests.support.writers import Writer

LIMIT_S = 10.0


def measure(engine, kills):
    """Prints the distribution; 1 when its 99th percentile is above the limit."""
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="opsapp-leases-")))
        store = stack.enter_context(Zeo(directory / "zeo", cuts=True) if engine == "zeo" else Postgres())
        uris = store.uris()
        nodes = {
            name: stack.enter_context(Serve(directory / name, node=name, data=directory / "data", **uris))
            for name in ("one", "two")
        }
        token = nodes["one"].admin.token
        book = stack.enter_context(lease_book(uris["store"]))
        times = [_once(book, nodes, token) for _ in range(kills)]
    times.sort()
    middle, worst = times[len(times) // 2], times[-1]
    p99 = times[min(len(times) - 1, int(len(times) * 0.99))]
    load = os.getloadavg()[0]
    print(
        f"{engine:<11}{kills} kills: p50 {middle:.1f} s, p99 {p99:.1f} s, longest {worst:.1f} s (load {load:.0f})",
        flush=True,
    )
    return int(p99 > LIMIT_S)


def _once(book, nodes, token):
    name = until(lambda: next((n for n in nodes if book.all_held_by(n)), None), 60, what="one node holding all leases")
    other = next(n for n in nodes if n != name)
    writers = [Writer(node.client(token=token), n, 0.05) for n, node in nodes.items()]
    until(lambda: all(writer.answered for writer in writers), 60, what="writes through both")
    nodes[name].kill()
    began = time.monotonic()
    until(lambda: book.all_held_by(other), 60, every=0.02, what="the leases taken over")
    took = time.monotonic() - began
    for writer in writers:
        writer.end()
    nodes[name].start(60)
    return took
