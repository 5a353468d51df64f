"""Node: one process of the cluster, with all its parts.

Views reach it as `request.node`, engines are handed it. It holds no feature's state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from persistent import Persistent

from opsapp.lib.problems import OutcomeUnknown, StoreAway
from opsapp.runtime.store.transactions import FRESHEN_S, Databases

from . import memory, serieswork
from .base import NodeBase, base_of
from .cluster import leases, nodes
from .events import Event, Tail
from .projection import Projections
from .store import indexed, pack

log = logging.getLogger(__name__)


class Node(NodeBase):
    """The parts, what the rooms run on it, and its start and end."""

    def __init__(self, databases: Databases, registry: Any, **settings: Any):
        super().__init__(databases, registry, **settings)
        self.leases = leases.LeaseKeeper(self)
        self.nodes = nodes.Nodes(self)
        self.events = Tail(self)
        self.projections = Projections(self, self.events)
        self.engines: list[Callable[[Node], Any]] = []
        self.companions: list[Callable[[Node], Any]] = []  # started whatever the roles
        self.farewells: list[Callable[[Node], Any]] = []
        self._endings: list[tuple[Callable[[], None], Callable[[], None]]] = []
        self._leaving = False

    def start_hub(self) -> None:
        """Start the hub on the thread that will serve: calls from it hop from now on; the engines run if this node has
        the role."""
        self.hub.enter()
        self.clock_steps.start()
        self.events.start()
        self.events.listen(self._on_event)
        self.projections.start()
        self.nodes.start()
        indexed.start(self)
        self.supervisor.add("connections", lambda: self.lane("looking", 1).run(self._freshen), every=FRESHEN_S)
        serieswork.start(self)
        pack.start(self)
        for start in self.companions:
            start(self)
        if "engine" in self.roles:
            for start in self.engines:
                start(self)
            self.leases.start()
        self.supervisor.start()
        log.info("node started name=%s boot=%s roles=%s", self.name, self.boot, ",".join(sorted(self.roles)))

    def _on_event(self, event: Event) -> None:
        if event.kind == leases.FREE:
            self.wake(leases.CLUSTER)

    def _freshen(self) -> bool:
        """Make idle connections let go of what they hold, and the process of what was freed."""
        self.store.freshen()
        memory.trim()
        return False

    def at_stop(self, begin: Callable[[], None], finish: Callable[[], None]) -> None:
        """Register what runs outside of the process, both on the hub: `begin()` at the order to stop, returns at once;
        `finish()` after the last answers, may wait a few seconds."""
        self._endings.append((begin, finish))

    def begin_stop(self) -> None:
        """The process is to end: what takes its time can begin to."""
        if not self._leaving:
            self._leaving = True
            for begin, _ in self._endings:
                begin()
            if self.hub.running and not self.exclusive:
                self.supervisor.spawn(self._hand_over)

    def _hand_over(self) -> None:
        """The others take up our share while we answer the last requests."""
        try:
            self.nodes.leave()
            self.leases.leave()
        except StoreAway:
            log.warning("nothing handed over: the store is away")

    def stop(self) -> None:
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
            serieswork.stop(self)
        except (StoreAway, OutcomeUnknown) as problem:
            log.warning("observations lost at the stop: %d batches: %s", self.series.journal.backlog, problem)

    def _say_farewells(self) -> None:
        for farewell in self.farewells:
            try:
                farewell(self)
            except (StoreAway, OutcomeUnknown) as problem:
                log.warning("not written at the stop: %s", problem)

    def _say_goodbye(self) -> None:
        """Say goodbye to the store; if it is away, the leases expire by themselves."""
        try:
            self.transact(leases.release, self.owner)
            self.transact(nodes.leave, self.name, self.boot)
        except StoreAway:
            log.warning("leases not given back: the store is away; they will expire")


def node_of(resource: Persistent) -> Node:
    """The node that has opened the database of this resource: the root, or anything stored below it."""
    node = base_of(resource)
    assert isinstance(node, Node)
    return node


def now_of(resource: Persistent) -> float:
    return node_of(resource).clock.now()
