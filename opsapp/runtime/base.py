"""NodeBase: what every part of a node needs: clock, store, threads, workers, configuration.

The parts (leases, events, projections) are built upon it, and `runtime.node` puts them together.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from persistent import Persistent

from opsapp.lib.problems import Invalid
from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.clocks.steps import ClockSteps
from opsapp.runtime.store.transactions import Databases, Store
from opsapp.runtime.threads.hub import Hub, Lane, LeadLane
from opsapp.runtime.threads.supervisor import Supervisor
from opsapp.series import Series
from opsapp.tree.damage import Damage
from opsapp.tree.evolve import EvolveStep
from opsapp.tree.reading import NOTED

from .atwork import Work
from .config import Configuration

ENGINE_THREADS = 2
SHARED_THREADS = 4  # on a shared store some may wait in a commit for another node


class HeldNumber:
    """A number that goes with its thread, and is free again after it."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int):
        self.number = number


class ThreadNumbers:
    """Each thread has one number while it lives, the lowest that is free. `sys._current_frames` must not be asked: in
    Python 3.11 the collector may free a thread's value while a lock is held that this takes too, and the process stands
    still for ever."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: WeakValueDictionary[int, HeldNumber] = WeakValueDictionary()
        self._lock = threading.Lock()

    def mine(self) -> int:
        held: HeldNumber | None = getattr(self._own, "held", None)
        if held is None:
            with self._lock:
                held = HeldNumber(next(number for number in count() if number not in self._all))
                self._all[held.number] = held
            self._own.held = held
        return held.number


class NodeBase:
    """Plain values go in and out of `transact`; persistent objects never leave it."""

    def __init__(
        self,
        databases: Databases,
        registry: Any,
        *,
        name: str | None = None,
        roles: frozenset[str] = frozenset({"web", "engine"}),
        clock: Clock | None = None,
        config: Configuration | None = None,
        exclusive: bool = True,
    ):
        self.name = name or socket.gethostname().split(".")[0].lower()
        self.roles = roles
        self.registry = registry
        self.clock = clock or Clock()
        self.config = config or Configuration()
        self.exclusive = exclusive  # the storage admits one process
        self.tls: Path | None = None  # its certificates in the cluster
        self.evolve_steps: list[EvolveStep] = []  # all that this version knows
        self.boot = secrets.token_hex(4)
        self.started_at = self.clock.now()
        self.store = Store(databases)
        self.hub = Hub()
        self.supervisor = Supervisor(self.clock)
        self.clock_steps = ClockSteps(self)
        self.clock_steps.follow(self._move)
        self.series = Series(self.name, self.transact, self.clock.now)
        self.noted_damage: dict[str, list[Damage]] = {}  # by kind: of what no projection reads
        self.pack_problem: str | None = None  # why the store was not packed when it was due
        self.trace_of: Callable[[Work], str | None] | None = None  # where traces are made: the id of a work's
        self._lanes: dict[str, Lane] = {}
        self._writers = ThreadNumbers()
        for db in databases.values():
            db.opsapp_node = self
            setattr(db, NOTED, self.noted_damage)

    def _move(self, by: float) -> None:
        self.started_at += by
        self.series.move(by)

    @property
    def owner(self) -> str:
        return f"{self.name}:{self.boot}"

    def transact(self, fn: Callable[..., Any], *values: Any) -> Any:
        """Run `fn` in a short transaction of its own; a plain answer."""
        threads = ENGINE_THREADS if self.exclusive else SHARED_THREADS
        return self.lead_lane("transact", threads).run(self.store.transact, fn, values)

    def transact_at(self, at: int, fn: Callable[..., Any], *values: Any) -> Any:
        """Run `fn` on the tree at the end of the second `at`; read-only, a plain answer. Gone before the pack horizon
        or the last schema step, Invalid in the future."""
        if at > self.clock.now():
            raise Invalid({"as_of": "lies in the future"})
        return self.lane("transact", ENGINE_THREADS).run(self.store.transact_at, at, fn, values)

    def last_transaction(self) -> Any:
        """A storage keeps it behind the lock that a commit holds while it waits for the disk, so the hub must not ask.
        Of a storage that admits one process we have heard it ourselves."""
        if self.exclusive:
            return self.store.committed
        return self.lane("looking", 1).run(self.store.db.lastTransaction)

    def state(self) -> object:
        """An object that stands for the state of the store, to be compared. Where other processes commit too it is
        always another."""
        return self.store.committed if self.exclusive else object()

    def lane(self, name: str, size: int = 2) -> Lane:
        """Blocking work in at most `size` native threads; the first call decides the size."""
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane(self.hub, name, size)
        return lane

    def lead_lane(self, name: str, size: int = 2) -> Lane:
        """The same for short work that is mostly Python."""
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = LeadLane(self.hub, name, size)
        return lane

    def post(self, fn: Callable[..., Any], *values: Any) -> None:
        """Run `fn` soon on the hub, from any thread; without a hub, now."""
        self.hub.post(fn, *values)

    def spawn(self, fn: Callable[..., Any], *values: Any) -> None:
        """Run `fn` in a supervised greenlet, from any thread; without a hub, now."""
        if self.hub.running:
            self.hub.post(self.supervisor.spawn, fn, *values)
        else:
            fn(*values)

    def wake(self, *names: str) -> None:
        """Wake the workers of these queues, from any thread."""
        if self.hub.is_here():  # each observation wakes somebody: not by a greenlet of its own
            for name in names:
                self.supervisor.wake(name)
        elif self.hub.running:
            for name in names:
                self.hub.post(self.supervisor.wake, name)

    def writer(self) -> str:
        """A name for the calling thread that no other thread of the cluster has now; few over the node's life."""
        return f"{self.name}.{self._writers.mine()}"


def base_of(resource: Persistent) -> NodeBase:
    """The node that has opened the database of this resource: the root, or anything stored below it."""
    connection: Any = resource._p_jar
    node: NodeBase = connection.db().opsapp_node
    return node
