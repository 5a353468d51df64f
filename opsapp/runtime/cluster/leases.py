"""Leases: which node does what only one may do.

A lease is a record (owner, beat, token) changed by compare-and-set. Whoever has watched the owner's beat stand still
for a whole lease takes it over, so clocks need not agree; what waits under it moves by the difference of the clocks
(`clocks`). The token grows with every owner, also when the store goes back to a backup (`fence`): what acts under a
lease checks it in its own transaction (`check`), and effects outside the store carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import gevent
from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.problems import Conflict, StoreAway
from opsapp.runtime import events
from opsapp.runtime.base import NodeBase, base_of
from opsapp.runtime.clocks.clock import STEP_S
from opsapp.tree.damage import is_damage, load
from opsapp.tree.places import SystemPlace
from opsapp.tree.root import Root

from .fence import next_token

LEASE_S = 5.0
CLUSTER = "cluster"  # wakes who watches the other nodes
FREE = "_cluster"  # told where a node gives something back: nobody has to wait until it is missed
IDLE_LOOK_S = 0.05


leases_of = SystemPlace[OOBTree]("leases")  # name -> Lease


class Pulse(Persistent):
    """An object of its own: work that reads the lease current must not meet every beat."""

    beat = 0
    at = 0.0  # by the clock of who wrote it; stores of an older version have none


class Lease(Persistent):
    def __init__(self) -> None:
        self.owner = ""
        self.token = 0
        self.pulse = Pulse()


class LeaseState(NamedTuple):
    """`at`: when it was renewed the last time before, by the clock of who did that."""

    owner: str
    beat: int
    token: int
    at: float


def set_up(root: Root) -> None:
    """Evolve step: no leases yet."""
    leases_of.put(root, OOBTree())


def beat(root: Root, owner: str, wanted: list[str], stale: dict[str, int], now: float) -> dict[str, LeaseState]:
    """Renew what is ours, take what is free or whose beat stood still at `stale`; the state of all wanted leases."""
    leases, states = leases_of(root), {}
    for name in wanted:
        lease = _whole(leases, name)
        pulse, at = lease.pulse, lease.pulse.at
        if lease.owner != owner and (not lease.owner or stale.get(name) == pulse.beat):
            lease.owner, lease.token = owner, next_token(lease.token, now)
        if lease.owner == owner:
            pulse.beat, pulse.at = pulse.beat + 1, now
        states[name] = LeaseState(lease.owner, pulse.beat, lease.token, at)
    return states


def _whole(leases: Any, name: str) -> Lease:
    """One that cannot be read is made anew, owned by nobody: its token comes from the clock, so the next is newer."""
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
    """Give back these leases or all; the others hear of it at once."""
    for name, lease in leases_of(root).items():
        if _is_readable(lease) and lease.owner == owner and (names is None or name in names):
            lease.owner = ""
    events.emit(root, FREE, {})


def check(root: Root, name: str) -> int:
    """The lease's token, for a transaction that acts under it; or Conflict. A takeover meanwhile fails the commit."""
    lease = leases_of(root).get(name)
    if lease is None or lease.owner != base_of(root).owner:
        raise Conflict(f"this node does not hold the lease {name!r}", code="lease_lost")
    root._p_jar.readCurrent(lease)
    return lease.token


class LeaseKeeper:
    """Where the storage admits one process, whatever an older one held is free."""

    def __init__(self, node: NodeBase):
        self.node = node
        self.wanted = node.supervisor.leases
        node.supervisor.holds = self.holds
        self.held: dict[str, int] = {}
        self.renewed_at = float("-inf")
        self._leaving = False
        self._uses: list[tuple[str, Callable[[], Any]]] = []
        self._watched: dict[str, tuple[int, float]] = {}
        self._off: dict[str, float] = {}  # by which the clock of who has a lease is ahead of ours, as it renewed it

    def want(self, name: str) -> None:
        if name not in self.wanted:
            self.wanted.append(name)

    def busy_while(self, name: str, under_way: Callable[[], Any]) -> None:
        """A stop gives a lease back only when everything that was begun under it has its outcome. This is for what a
        step has begun and left to others; steps themselves are known."""
        self._uses.append((name, under_way))

    def holds(self, name: str) -> bool:
        """Whether the lease was renewed recently enough that nobody can have taken it, and is not about to be given
        back."""
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
        if self.node.exclusive and any(row.owner != self.node.owner for row in state.values()):
            state = self._beat({name: row.beat for name, row in state.items()})
        self.renewed_at = now
        self.held = {name: row.token for name, row in state.items() if row.owner == self.node.owner}
        for name, row in state.items():
            if row.owner != self.node.owner:
                self._watch(name, row, now)
        if set(self.held) - before:
            self._take_over({name: state[name] for name in set(self.held) - before})
            self.node.wake("leases")
        return False

    def _watch(self, name: str, row: LeaseState, now: float) -> None:
        known = self._watched.get(name)
        if known is None or known[0] != row.beat:
            self._watched[name] = (row.beat, now)
            if known is not None and row.at:  # it has just been renewed, whatever the time is there
                self._off[name] = row.at - self.node.clock.now()

    def _take_over(self, taken: dict[str, LeaseState]) -> None:
        """Where an owner was never seen to renew, we know only that no clock showed a time to come."""
        for name, row in taken.items():
            off = self._off.pop(name, max(0.0, row.at - self.node.clock.now()))
            if not self.node.exclusive and abs(off) > STEP_S:
                self.node.clock_steps.take_over(name, -off)

    def _beat(self, stale: dict[str, int]) -> dict[str, LeaseState]:
        try:
            beats: dict[str, LeaseState] = self.node.transact(
                beat, self.node.owner, self.wanted, stale, self.node.clock.now()
            )
        except StoreAway:
            self._watched.clear()  # beats stand still while the store is away, and that says nothing of their owners
            raise
        return beats

    @staticmethod
    def stamp(root: Root, name: str, at: float) -> None:
        """What waits under the lease goes by a clock that says `at` now: whoever takes it over reads that here."""
        pulse = leases_of(root)[name].pulse
        pulse.beat, pulse.at = pulse.beat + 1, at

    def start(self) -> None:
        self.step()
        self.node.supervisor.add("leases", self.step, every=LEASE_S / 4, wake=(CLUSTER,))

    def leave(self) -> None:
        """Give back each lease once it is idle, on the hub at the beginning of a stop: no work under a lease begins any
        more. The node's goodbye gives back the rest."""
        self._leaving = True
        while self.held:
            busy = {name for name, under_way in self._uses if under_way()}
            idle = self.held.keys() - busy - self.node.supervisor.busy_leases()
            if idle:
                self.node.transact(release, self.node.owner, idle)
                self.held = {name: token for name, token in self.held.items() if name not in idle}
            else:
                gevent.sleep(IDLE_LOOK_S)
