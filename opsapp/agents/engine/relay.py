"""What this node hears of agents, told to the other nodes: reports, output of running commands, who is being watched.

Conditions are evaluated on the node that holds healing's lease, streams are read on another, and an agent reports to a
third. It is for memory alone: history goes through the journal, results through the store, and of what could not be
told the next report makes up. Hub only.
"""

from __future__ import annotations

import json
import logging
from collections import deque

import gevent

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Unavailable
from opsapp.runtime.cluster import peers
from opsapp.runtime.node import Node
from opsapp.wire.records import made, plain
from opsapp.wire.reports import Measurement

from .memory import memory_of
from .outputs import outputs_of

log = logging.getLogger(__name__)

KEY = "opsapp.agents.relay"
PATH = "/node-heard"
SOON_S = 0.05
MOST_BYTES = 4 * 1024 * 1024
MOST_OUTPUTS = 5_000


class RelayPeer:
    """Another node, and what it has not been told yet. Of each agent only the latest report."""

    def __init__(self, node: Node, name: str):
        self.name = name
        self.reports: dict[str, Measurement] = {}
        self.outputs: deque[tuple[str, int, str]] = deque(maxlen=MOST_OUTPUTS)
        self.news = False
        self.failed = 0
        self._node = node
        self._telling = False

    def soon(self) -> None:
        self.news = True
        if not self._telling:
            self._telling = True
            gevent.spawn_later(SOON_S, self._tell)

    def _tell(self) -> None:
        """One request at a time, until nothing is left: so outputs stay in their order."""
        try:
            while self.news or self.reports or self.outputs:
                self.news = False
                peers.ask(self._node, self.name, PATH, self._next())
                self.failed = 0
        except Unavailable as problem:
            self.failed += 1
            if self.failed == 1:
                log.warning("node %s is not told what is heard here: %s", self.name, problem)
            self.reports.clear()
            self.outputs.clear()
        finally:
            self._telling = False

    def _next(self) -> JsonObject:
        """The next reports and outputs, as many as one request carries."""
        room, reports, outputs = MOST_BYTES, [], []
        while self.reports and room > 0:
            agent_id = next(iter(self.reports))
            report = plain(self.reports.pop(agent_id))
            room -= len(json.dumps(report))
            reports.append([agent_id, report])
        while self.outputs and room > 0:
            outputs.append(self.outputs.popleft())
            room -= len(outputs[-1][2])
        watching = memory_of(self._node).watched_here()
        return {"node": self._node.name, "reports": reports, "outputs": outputs, "watching": watching}


class Relay:
    """One per node."""

    def __init__(self, node: Node):
        self.node = node
        self._peers: dict[str, RelayPeer] = {}
        self._looked_at = float("-inf")
        self._names: list[str] = []

    def report(self, agent_id: str, report: Measurement) -> None:
        """Heard here."""
        for peer in self._others():
            peer.reports.pop(agent_id, None)
            peer.reports[agent_id] = report
            peer.soon()

    def output(self, command_id: str, seq: int, data: str) -> None:
        for peer in self._others():
            peer.outputs.append((command_id, seq, data))
            peer.soon()

    def watching(self) -> None:
        """Somebody has begun or ended to watch an agent here."""
        for peer in self._others():
            peer.soon()

    def _others(self) -> list[RelayPeer]:
        now = self.node.clock.monotonic()
        if now - self._looked_at > 1.0:
            self._looked_at = now
            self._names = peers.others(self.node)
            self._peers = {name: self._peers.get(name) or RelayPeer(self.node, name) for name in self._names}
        return list(self._peers.values())

    def failures(self) -> list[tuple[str, int]]:
        """How often in a row each other node could not be told."""
        return [(name, peer.failed) for name, peer in sorted(self._peers.items())]

    def take(self, message: JsonObject) -> None:
        """What another node heard."""
        memory = memory_of(self.node)
        memory.watched_there(message["node"], message["watching"])
        now = self.node.clock.now()  # it took a moment to get here; the clocks of nodes need not agree
        for agent_id, report in message["reports"]:
            memory.hear(agent_id, made(Measurement, report), now)
        for command_id, seq, data in message["outputs"]:
            outputs_of(self.node).call(command_id, seq, data)


def relay_of(node: Node) -> Relay:
    return node.registry[KEY]


def prepare(node: Node) -> None:
    """Called before anything is served."""
    relay = node.registry[KEY] = Relay(node)
    memory = memory_of(node)
    memory.on_heard, memory.on_watching = relay.report, relay.watching
