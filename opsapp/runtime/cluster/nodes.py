"""Which nodes there are: each writes a beat, and judges the others by watching their beats move.

Clocks need not agree. Silence counts only while we look: a node that was held up itself must not find the others dead.
A storage that admits one process has nobody to watch, and nothing is written.

Two bounds: who is quiet for a short while has its checks made by others, which does no harm if it lives; who is dead
has lost what it had claimed, which takes longer to say.
"""

from __future__ import annotations

from typing import NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.problems import Conflict
from opsapp.runtime import events
from opsapp.runtime.base import NodeBase
from opsapp.tree import evolve
from opsapp.tree.evolve import EvolveStep
from opsapp.tree.places import SystemPlace
from opsapp.tree.root import Root
from opsapp.wire.version import VERSION

from .leases import CLUSTER, FREE

BEAT_S = 1.0
LOOKED_FOR_S = 1.5 * BEAT_S  # as much of the time since our last look as counts
QUIET_AFTER_S = 3.0
DEAD_AFTER_S = 6.0
FORGET_AFTER_S = 600.0


node_records_of = SystemPlace[OOBTree]("nodes")  # name -> NodeRecord


class NodeRecord(Persistent):
    """`boot`: its latest; `address`: of its own HTTP server."""

    version = ""  # older ones did not write it
    leaving = False  # told to stop: it begins nothing new, and ends what it has claimed

    def __init__(self) -> None:
        self.boot = ""
        self.beat = 0
        self.roles: tuple[str, ...] = ()
        self.address = ""


class Beat(NamedTuple):
    boot: str
    number: int
    roles: tuple[str, ...]
    address: str
    version: str = ""
    leaving: bool = False


class NewerStore(Conflict):
    """A newer version has changed the store so that this one must not go on with it."""

    code = "newer_store"


def set_up(root: Root) -> None:
    """Evolve step: no nodes yet."""
    node_records_of.put(root, OOBTree())


def beat(root: Root, name: str, mine: Beat, forget: list[str], steps: list[EvolveStep]) -> dict[str, Beat]:
    """Write our beat, drop nodes long dead; every node's. NewerStore where the store has a version that is none of
    ours; an evolve step that runs at the same time as our first beat is a conflict."""
    refusal = evolve.refusal(evolve.apart_in(root, steps)) if steps else None  # a node without rooms knows none
    if refusal:
        raise NewerStore(refusal)
    records = node_records_of(root)
    evolve.read_current(root)
    record = records.get(name)
    if record is None:
        record = records[name] = NodeRecord()
    record.boot, record.beat, record.roles, record.address = mine.boot, record.beat + 1, mine.roles, mine.address
    record.version = mine.version
    if record.leaving != mine.leaving:
        record.leaving = mine.leaving
        events.emit(root, FREE, {})
    for gone in forget:
        if gone != name:
            records.pop(gone, None)
    return beats(root)


def beats(root: Root) -> dict[str, Beat]:
    records = root.system.get("nodes", {})
    return {
        name: Beat(record.boot, record.beat, record.roles, record.address, record.version, record.leaving)
        for name, record in records.items()
    }


def read_current(root: Root) -> None:
    """Fail the commit if a node comes or goes meanwhile."""
    if "nodes" in root.system:
        root._p_jar.readCurrent(node_records_of(root))


def leave(root: Root, name: str, boot: str) -> None:
    """At a clean stop: the others need not wait."""
    record = node_records_of(root).get(name)
    if record is not None and record.boot == boot:
        del node_records_of(root)[name]
        events.emit(root, FREE, {})


class Nodes:
    def __init__(self, node: NodeBase):
        self.node = node
        self.address = ""
        self.leaving = False
        self._seen: dict[str, tuple[tuple[str, int], float]] = {}  # (boot, beat), and for how long it stood still
        self._looked_at = float("-inf")
        self._known: dict[str, Beat] = {}

    def step(self) -> bool:
        now = self.node.clock.monotonic()
        long_dead = [name for name, (_, still) in self._seen.items() if still > FORGET_AFTER_S]
        before = self.working("engine")
        mine = Beat(self.node.boot, 0, tuple(sorted(self.node.roles)), self.address, VERSION, self.leaving)
        try:
            self._known = self.node.transact(beat, self.node.name, mine, long_dead, self.node.evolve_steps)
        except NewerStore as newer:
            self.node.supervisor.leave(str(newer))
            return False
        for name, heard in self._known.items():
            known, still = self._seen.get(name, (None, 0.0))
            present = (heard.boot, heard.number)
            self._seen[name] = present, still + self._watched(now) if known == present else 0.0
        self._looked_at = now
        self._seen = {name: seen for name, seen in self._seen.items() if name in self._known}
        if self.working("engine") != before:
            self.node.wake("nodes")
        return False

    def _watched(self, now: float) -> float:
        return min(now - self._looked_at, LOOKED_FOR_S)

    def alive(self, role: str) -> tuple[str, ...]:
        """Nodes with this role whose beat moves, ourselves included; sorted."""
        own = {self.node.name} if role in self.node.roles else set()
        return tuple(sorted(own | self._others(role, DEAD_AFTER_S)))

    def working(self, role: str) -> tuple[str, ...]:
        """The nodes among whom new work is shared: heard of a moment ago, and not told to stop."""
        own = {self.node.name} if role in self.node.roles and not self.leaving else set()
        there = {name for name in self._others(role, QUIET_AFTER_S) if not self._known[name].leaving}
        return tuple(sorted(own | there))

    def _others(self, role: str, bound: float) -> set[str]:
        """Whose beat has not stood still for so long."""
        now = self.node.clock.monotonic()
        return {
            name
            for name, heard in self._known.items()
            if name != self.node.name
            and role in heard.roles
            and name in self._seen
            and self._seen[name][1] + self._watched(now) < bound
        }

    def owners(self, root: Root) -> set[str]:
        """The "name:boot" of each node whose claims stand. The caller's transaction says which there are: claims of a
        node that came since our last look must not be called abandoned."""
        if self.node.exclusive:
            return {self.node.owner}
        there = {f"{name}:{heard.boot}" for name, heard in beats(root).items() if not self._is_dead(name, heard)}
        return {self.node.owner} | there

    def _is_dead(self, name: str, heard: Beat) -> bool:
        """Its beat is where we have seen it stand still for too long."""
        known, still = self._seen.get(name, (None, 0.0))
        watched = still + self._watched(self.node.clock.monotonic())
        return known == (heard.boot, heard.number) and watched >= DEAD_AFTER_S

    def address_of(self, name: str) -> str | None:
        """Where a node's own server is, if it told."""
        known = self._known.get(name)
        return known.address or None if known else None

    def start(self) -> None:
        if not self.node.exclusive:
            self.step()
            self.node.supervisor.add("nodes", self.step, every=BEAT_S, wake=(CLUSTER,))

    def leave(self) -> None:
        """On the hub, at the beginning of a stop: the others make our checks from now on."""
        self.leaving = True
        self.step()
