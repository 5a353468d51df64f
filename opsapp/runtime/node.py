"""Node: one process of the cluster, and everything that code needs of it.

Views reach it as `request.node`, engines are handed it. It holds no feature's state.
"""

from __future__ import annotations

import logging
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from opsapp.lib.problems import Invalid, OutcomeUnknown, StoreAway
from opsapp.series.process import Series

from . import events, indexing, leases, measuring, memory, nodes, packing, projection, wakes
from .clock import Clock
from .config import Configuration
from .hub import Hub, Lane, LeadLane
from .store import FRESHEN_S, Store
from .supervisor import Supervisor

log = logging.getLogger(__name__)

ENGINE_THREADS = 2


class Node:
    """Plain values go in and out of `transact`; persistent objects never leave it."""

    def __init__(
        self,
        databases: dict[str, Any],
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
        self.boot = secrets.token_hex(4)
        self.started_at = self.clock.now()
        self.store = Store(databases)
        self.hub = Hub()
        self.leases = leases.LeaseKeeper(self, exclusive=exclusive, boot=self.boot)
        self.nodes = nodes.Nodes(self, exclusive=exclusive)
        self.supervisor = Supervisor(self)
        self.events = events.Tail(self)
        self.projections = projection.Projections(self)
        self.series = Series(self.name, self.transact)
        self.pack_problem: str | None = None  # why the store was not packed when it was due
        self.engines: list[Callable[[Node], Any]] = []
        self.companions: list[Callable[[Node], Any]] = []  # started whatever the roles
        self.farewells: list[Callable[[Node], Any]] = []
        self._endings: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self._leaving = False
        self._lanes: dict[str, Lane] = {}
        self._writers: dict[int, int] = {}
        self._writers_lock = threading.Lock()
        for db in databases.values():
            wakes.bind(db, self)

    def transact(self, fn: Callable[..., Any], *values: Any) -> Any:
        """`fn(root, *values)` in a short transaction of its own; a plain answer."""
        return self.lead_lane("transact", ENGINE_THREADS).run(self.store.transact, fn, values)

    def transact_at(self, at: int, fn: Callable[..., Any], *values: Any) -> Any:
        """`fn(root, *values)` over the tree as it was at the end of the second `at`; read-only, a plain answer. Gone
        when that lies before the pack horizon or the last schema step; Invalid when it lies in the future."""
        if at > self.clock.now():
            raise Invalid({"as_of": "lies in the future"})
        return self.lane("transact", ENGINE_THREADS).run(self.store.transact_at, at, fn, values)

    def last_transaction(self) -> Any:
        """What was committed last. A storage keeps that behind the lock which a commit holds while it waits for the
        disk: no question for the hub."""
        return self.lane("looking", 1).run(self.store.db.lastTransaction)

    def lane(self, name: str, size: int = 2) -> Lane:
        """The lane of this name: blocking work in at most `size` native threads (the first call decides)."""
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
        """From any thread: run `fn` soon on the hub (now, where there is no hub)."""
        self.hub.post(fn, *values)

    def spawn(self, fn: Callable[..., Any], *values: Any) -> None:
        """From any thread: a supervised greenlet of its own (now, where there is no hub)."""
        if self.hub.running:
            self.hub.post(self.supervisor.spawn, fn, *values)
        else:
            fn(*values)

    def wake(self, *names: str) -> None:
        """From any thread: whoever works these queues looks at once."""
        if self.hub.is_here():  # each observation wakes somebody: not by a greenlet of its own
            for name in names:
                self.supervisor.wake(name)
        elif self.hub.running:
            for name in names:
                self.hub.post(self.supervisor.wake, name)

    def writer(self) -> str:
        """A name for the calling thread that no other thread of the cluster has now; few over the node's life."""
        ident = threading.get_ident()
        with self._writers_lock:
            slot = self._writers.get(ident)
            if slot is None:
                alive = sys._current_frames().keys()
                self._writers = {thread: used for thread, used in self._writers.items() if thread in alive}
                taken = set(self._writers.values())
                slot = self._writers[ident] = next(n for n in range(len(taken) + 1) if n not in taken)
        return f"{self.name}.{slot}"

    def start_hub(self) -> None:
        """On the thread that will serve: from now on calls from it hop; the engines run if this node has the role."""
        self.hub.enter()
        events.start(self)
        projection.start(self)
        nodes.start(self)
        indexing.start(self)
        self.supervisor.add("connections", lambda: self.lane("looking", 1).run(self._freshen), every=FRESHEN_S)
        measuring.start(self)
        packing.start(self)
        for start in self.companions:
            start(self)
        if "engine" in self.roles:
            for start in self.engines:
                start(self)
            leases.start(self)
        self.supervisor.start()
        log.info("node started name=%s boot=%s roles=%s", self.name, self.boot, ",".join(sorted(self.roles)))

    def _freshen(self) -> bool:
        """Connections that nobody uses let go of what they hold, and the process of what was freed."""
        self.store.freshen()
        memory.trim()
        return False

    def at_stop(self, begin: Callable[[], None], finish: Callable[[], None]) -> None:
        """For what runs outside of the process: `begin()` is called when the process is told to stop and returns at
        once, `finish()` when the last requests have been answered, and may wait a few seconds. Both on the hub."""
        self._endings.append((begin, finish))

    def begin_stop(self) -> None:
        """The process is to end: what takes its time can begin to."""
        if not self._leaving:
            self._leaving = True
            for begin, _ in self._endings:
                begin()

    def stop(self) -> None:
        """End what runs outside and the workers, commit what was observed, give leases back, close lanes and stores."""
        self.begin_stop()
        for _, finish in self._endings:
            finish()
        self.supervisor.stop()
        self._empty_journal()
        self._say_farewells()
        if self.hub.running:
            self._say_goodbye()
            self.hub.leave()
        for lane in self._lanes.values():
            lane.close()
        self.store.close()

    def _empty_journal(self) -> None:
        try:
            measuring.stop(self)
        except (StoreAway, OutcomeUnknown) as problem:
            log.warning("observations lost at the stop: %d batches: %s", self.series.journal.backlog, problem)

    def _say_farewells(self) -> None:
        for farewell in self.farewells:
            try:
                farewell(self)
            except (StoreAway, OutcomeUnknown) as problem:
                log.warning("not written at the stop: %s", problem)

    def _say_goodbye(self) -> None:
        """Give back what others wait for. Should the store be away, it runs out by itself."""
        try:
            self.transact(leases.release, self.leases.owner)
            self.transact(nodes.leave, self.name, self.boot)
        except StoreAway:
            log.warning("leases not given back: the store is away; they run out by themselves")
