"""What happens to a cluster: a function for each fault. It returns when the fault is over.

A fault that takes the leases from a node answers after how many seconds another one held them all.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from tests.support.waiting import until

STORE_AWAY_S = 60
STAND_STILL_S = 15  # three times a lease
DISK_FULL_S = 10
HOUR_S = 3600.0


class Fault(NamedTuple):
    what: str
    happen: Callable
    engines: tuple = ("zeo", "postgresql")
    may_lose_runs: bool = False  # a node is killed: what it carried out is told as lost


def kill(cluster):
    """kill -9 of the node that holds the leases, and a start of it again."""
    dead, _ = cluster.holder()
    dead.kill()
    leases_s = taken_over(cluster, dead)
    time.sleep(5)
    dead.start(60)
    return leases_s


def drain(cluster):
    """SIGTERM of the node that holds the leases, and a start of it again."""
    leaver, _ = cluster.holder()
    leaver.child.terminate()
    leases_s = taken_over(cluster, leaver)
    assert leaver.child.wait(20) == 0
    leaver.start(60)
    return leases_s


def stop_the_store(cluster):
    cluster.store.kill()
    time.sleep(STORE_AWAY_S)
    cluster.store.start(60)


def restart_the_store(cluster):
    cluster.store.stop()
    cluster.store.start(60)


def partition(cluster):
    """The node that holds the leases cannot reach the store any more, and is reached by everybody else."""
    apart, _ = cluster.holder()
    apart.place.cut_off(*cluster.store.addresses)
    try:
        leases_s = taken_over(cluster, apart)
        time.sleep(5)
    finally:
        apart.place.mend()
    return leases_s


def freeze(cluster):
    """The node that holds the leases stands still past them, and comes to."""
    frozen, _ = cluster.holder()
    os.kill(frozen.child.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        leases_s = taken_over(cluster, frozen)
        time.sleep(max(0, began + STAND_STILL_S - time.monotonic()))
    finally:
        os.kill(frozen.child.pid, signal.SIGCONT)
    return leases_s


def fill_the_disk(cluster):
    """Of the store; a server that ends of it is started again, as systemd does."""
    cluster.store.disk.fill()
    time.sleep(DISK_FULL_S)
    cluster.store.disk.free()
    with contextlib.suppress(AssertionError):
        until(lambda: not cluster.store.running, 0.4, what="the end of the server")
    if not cluster.store.running:
        cluster.store.start(60)


def step_the_clock(seconds):
    def step(cluster):
        """Of one node only."""
        node, _ = cluster.holder()
        node.step_clock(seconds)
        time.sleep(15)
        node.step_clock(0)
        time.sleep(5)

    return step


def fail_over(cluster):
    """The server that is written to is gone for good; its replica takes over."""
    replica = cluster.store.replica()
    time.sleep(3)
    cluster.store.kill()
    replica.promote()


def taken_over(cluster, gone):
    """Seconds until no lease is held by that node or by nobody."""
    began = time.monotonic()
    names = {node.name_in_store for node in cluster.nodes} - {gone.name_in_store}
    until(lambda: set(cluster.book.owners().values()) <= names, 30, every=0.05, what="the leases taken over")
    return time.monotonic() - began


FAULTS = {
    "kill": Fault("kill -9 a node", kill, may_lose_runs=True),
    "drain": Fault("SIGTERM a node", drain),
    "freeze": Fault(f"SIGSTOP a lease holder for {STAND_STILL_S} s", freeze, may_lose_runs=True),
    "partition": Fault("cut a node off from the store", partition, may_lose_runs=True),
    "clock+": Fault("step a node's clock by +1 h and back", step_the_clock(HOUR_S)),
    "clock-": Fault("step a node's clock by -1 h and back", step_the_clock(-HOUR_S)),
    "disk": Fault("fill the store's disk", fill_the_disk),
    "restart": Fault("restart the store", restart_the_store),
    "store": Fault(f"kill the store for {STORE_AWAY_S} s", stop_the_store),
    "failover": Fault("fail over to a replica", fail_over, ("postgresql",)),
}
