"""Leases: which node does what only one may do.

A lease is a record (owner, beat, token) changed by compare-and-set. The owner's beat moves; a node that has watched it
stand still for a whole lease takes it over, so clocks need not agree. The token grows with every owner, and when the
store goes back to a backup (`fencing`): what acts under a lease checks it in its own transaction (`check`), and effects
outside the store carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import gevent
from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.problems import Conflict, StoreAway
from opsapp.tree.damage import is_damage, load
from opsapp.tree.root import Root

from . import events
from .base import NodeBase, base_of
from .fencing import next_token

LEASE_S = 5.0
CLUSTER = "cluster"  # wakes who watches the other nodes
FREE = "_cluster"  # told where a node gives something back: nobody has to wait until it is missed
IDLE_LOOK_S = 0.05


class Pulse(Persistent):
    """What a renewal writes. An object of its own: work that reads the lease current must not meet every beat."""

    beat = 0


class Lease(Persistent):
    def __init__(self) -> None:
        self.owner = ""
        self.token = 0
        self.pulse = Pulse()


def set_up(root: Root) -> None:
    """Evolve step: no leases yet."""
    root.system["leases"] = OOBTree()


def beat(
    root: Root, owner: str, wanted: list[str], stale: dict[str, int], now: float
) -> dict[str, tuple[str, int, int]]:
    """Renew what is ours, take what is free or whose beat stood still at `stale`; the state of all wanted leases."""
    leases = root.system["leases"]
    for name in wanted:
        lease = _whole(leases, name)
        if lease.owner == owner:
            lease.pulse.beat += 1
        elif not lease.owner or stale.get(name) == lease.pulse.beat:
            lease.owner, lease.token = owner, next_token(lease.token, now)
            lease.pulse.beat += 1
    return {name: (leases[name].owner, leases[name].pulse.beat, leases[name].token) for name in wanted}


def _whole(leases: Any, name: str) -> Lease:
    """The lease, made anew where there is none. One that cannot be read is nobody's: its token came from the clock, so
    that the next is newer."""
    lease: Lease | None = leases.get(name)
    if lease is None or not _is_readable(lease):
        lease = leases[name] = Lease()
    elif not _is_readable(lease.pulse):
        lease.pulse = Pulse()
    return lease


def _is_readable(item: Persistent) -> bool:
    try:
        load(item)
    except Exception as problem:
        if not is_damage(problem):
            raise
        return False
    return True


def release(root: Root, owner: str, names: Collection[str] | None = None) -> None:
    """Give these back, or everything, at a clean stop; the others hear of it at once."""
    for name, lease in root.system["leases"].items():
        if _is_readable(lease) and lease.owner == owner and (names is None or name in names):
            lease.owner = ""
    events.emit(root, FREE, {})


def check(root: Root, name: str) -> int:
    """In a transaction that acts under a lease: its token, or Conflict. A takeover meanwhile fails the commit."""
    lease = root.system["leases"].get(name)
    if lease is None or lease.owner != base_of(root).owner:
        raise Conflict(f"this node does not hold the lease {name!r}", code="lease_lost")
    root._p_jar.readCurrent(lease)
    return lease.token


class LeaseKeeper:
    """This node's part. Where the storage admits one process, whatever an older one held is free."""

    def __init__(self, node: NodeBase):
        self.node = node
        self.wanted = node.supervisor.leases
        node.supervisor.holds = self.holds
        self.held: dict[str, int] = {}
        self.renewed_at = float("-inf")
        self._leaving = False
        self._uses: list[tuple[str, Callable[[], Any]]] = []
        self._watched: dict[str, tuple[int, float]] = {}

    def want(self, name: str) -> None:
        if name not in self.wanted:
            self.wanted.append(name)

    def busy_while(self, name: str, under_way: Callable[[], Any]) -> None:
        """A lease is given back at a stop only once what was begun under it has its outcome. What a step does itself
        is known; this is for what it has begun and left to others."""
        self._uses.append((name, under_way))

    def holds(self, name: str) -> bool:
        """Ours, renewed recently enough that nobody can have taken it, and not about to be given back."""
        return (
            not self._leaving and name in self.held and self.node.clock.monotonic() - self.renewed_at < LEASE_S * 0.75
        )

    def step(self) -> bool:
        now = self.node.clock.monotonic()
        if self._leaving:
            return False
        if self.node.exclusive and self.held.keys() >= set(self.wanted):
            self.renewed_at = now  # nobody else can open this store: nothing to renew
            return False
        stale = {name: at_beat for name, (at_beat, since) in self._watched.items() if now - since >= LEASE_S}
        before = set(self.held)
        state = self._beat(stale)
        if self.node.exclusive and any(owner != self.node.owner for owner, _, _ in state.values()):
            state = self._beat({name: row[1] for name, row in state.items()})
        self.renewed_at = now
        self.held = {name: token for name, (owner, _, token) in state.items() if owner == self.node.owner}
        for name, (owner, at_beat, _) in state.items():
            if owner != self.node.owner and self._watched.get(name, (None, 0))[0] != at_beat:
                self._watched[name] = (at_beat, now)
        if set(self.held) - before:
            self.node.wake("leases")
        return False

    def _beat(self, stale: dict[str, int]) -> dict[str, tuple[str, int, int]]:
        try:
            beats: dict[str, tuple[str, int, int]] = self.node.transact(
                beat, self.node.owner, self.wanted, stale, self.node.clock.now()
            )
        except StoreAway:
            self._watched.clear()  # beats stand still while the store is away, and that says nothing of their owners
            raise
        return beats

    def start(self) -> None:
        self.step()
        self.node.supervisor.add("leases", self.step, every=LEASE_S / 4, wake=(CLUSTER,))

    def leave(self) -> None:
        """On the hub, at the beginning of a stop: no work under a lease begins any more, and each lease is given back
        once nothing under it is under way. What is left at the end the node's goodbye gives back."""
        self._leaving = True
        while self.held:
            busy = {name for name, under_way in self._uses if under_way()}
            idle = self.held.keys() - busy - self.node.supervisor.busy_leases()
            if idle:
                self.node.transact(release, self.node.owner, idle)
                self.held = {name: token for name, token in self.held.items() if name not in idle}
            else:
                gevent.sleep(IDLE_LOOK_S)
