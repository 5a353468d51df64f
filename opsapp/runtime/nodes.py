"""Which nodes there are: each writes a beat, and each judges the others by watching their beats move.

Clocks need not agree. Silence counts only while we look: a node that was held up itself, or slept together with the
machine, must not find the others dead when it comes to. On a storage that admits one process there is nobody to watch,
and nothing is written.
"""

from __future__ import annotations

from typing import NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.tree.root import Root

from .base import NodeBase

BEAT_S = 2.0
LOOKED_FOR_S = 1.5 * BEAT_S  # as much of the time since our last look as counts
DEAD_AFTER_S = 6.0
FORGET_AFTER_S = 600.0


class NodeRecord(Persistent):
    """One process: its latest boot, what it does, where its own HTTP address is."""

    def __init__(self) -> None:
        self.boot = ""
        self.beat = 0
        self.roles: tuple[str, ...] = ()
        self.address = ""


class Beat(NamedTuple):
    """What a node has written last."""

    boot: str
    number: int
    roles: tuple[str, ...]
    address: str


def set_up(root: Root) -> None:
    """Evolve step: no nodes yet."""
    root.system["nodes"] = OOBTree()


def beat(root: Root, name: str, boot: str, roles: tuple[str, ...], address: str, forget: list[str]) -> dict[str, Beat]:
    """Write our beat, drop nodes long dead; every node's."""
    records = root.system["nodes"]
    mine = records.get(name)
    if mine is None:
        mine = records[name] = NodeRecord()
    mine.boot, mine.beat, mine.roles, mine.address = boot, mine.beat + 1, roles, address
    for gone in forget:
        if gone != name:
            records.pop(gone, None)
    return {key: Beat(record.boot, record.beat, record.roles, record.address) for key, record in records.items()}


def leave(root: Root, name: str, boot: str) -> None:
    """At a clean stop: the others need not wait."""
    record = root.system["nodes"].get(name)
    if record is not None and record.boot == boot:
        del root.system["nodes"][name]


class Nodes:
    """This node's view of all nodes."""

    def __init__(self, node: NodeBase):
        self.node = node
        self.address = ""
        self._seen: dict[str, tuple[tuple[str, int], float]] = {}  # (boot, beat), and for how long it stood still
        self._looked_at = float("-inf")
        self._known: dict[str, Beat] = {}

    def step(self) -> bool:
        now = self.node.clock.monotonic()
        long_dead = [name for name, (_, still) in self._seen.items() if still > FORGET_AFTER_S]
        before = self.alive("engine")
        roles = tuple(sorted(self.node.roles))
        self._known = self.node.transact(beat, self.node.name, self.node.boot, roles, self.address, long_dead)
        for name, heard in self._known.items():
            known, still = self._seen.get(name, (None, 0.0))
            present = (heard.boot, heard.number)
            self._seen[name] = present, still + self._watched(now) if known == present else 0.0
        self._looked_at = now
        self._seen = {name: seen for name, seen in self._seen.items() if name in self._known}
        if self.alive("engine") != before:
            self.node.wake("nodes")
        return False

    def _watched(self, now: float) -> float:
        return min(now - self._looked_at, LOOKED_FOR_S)

    def alive(self, role: str) -> tuple[str, ...]:
        """The names of the nodes with this role whose beat moves, ourselves included; sorted."""
        own = {self.node.name} if role in self.node.roles else set()
        now = self.node.clock.monotonic()
        others = {
            name
            for name, heard in self._known.items()
            if role in heard.roles and name in self._seen and self._seen[name][1] + self._watched(now) < DEAD_AFTER_S
        }
        return tuple(sorted(own | (others - {self.node.name})))

    def owners(self, role: str) -> list[str]:
        """ "name:boot" of the other nodes with this role whose beat moves: whose claims still stand."""
        return [f"{name}:{self._known[name].boot}" for name in self.alive(role) if name in self._known]

    def address_of(self, name: str) -> str | None:
        """Where a node's own server is, if it told."""
        known = self._known.get(name)
        return known.address or None if known else None

    def start(self) -> None:
        if not self.node.exclusive:
            self.step()
            self.node.supervisor.add("nodes", self.step, every=BEAT_S)
