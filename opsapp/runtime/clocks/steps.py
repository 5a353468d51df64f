"""Steps of the machine's clock: noticed here, and everything that remembers moments moves with the clock.

Whoever measures how long ago something was, or how long it still has, adds the step to the moments it remembers. Memory
moves in the turn of the hub that takes over the new time (`follow`). A stored queue is moved in a transaction by the
holder of its lease (`carry`). Records of what was, and moments that people named (schedules, windows, ends of
sessions), stay: ADR 096.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from persistent.TimeStamp import TimeStamp

from opsapp.lib.durations import roughly
from opsapp.lib.problems import Conflict, OutcomeUnknown, StoreAway

from .clock import STEP_S

log = logging.getLogger(__name__)

EVERY_S = 1.0
SHOWN_S = 3600.0  # for so long health tells of a step
KEPT = 20
WAKE = "clock"  # whoever has to do something about a step
LEFT_S = 1e-6
DAY_S = 86400.0
MOVED = "clock_moved"  # up to where the store's times went when what is due in it was moved last
MOVED_OF = "clock_moved_of"  # by queue: the same
# What stores up to 0.3 call the queues: by their functions. Not needed any more once 0.4 was the oldest.
BEFORE = {
    "opsapp.agents.engine.sweep.move": "commands",
    "opsapp.assistants.resources.move": "allowed once",
    "opsapp.auth.resources.invitations.move": "invitations",
    "opsapp.automations.engine.runretention.move": "runs",
    "opsapp.healing.engine.clocks.move": "healing",
    "opsapp.monitoring.engine.pushes.move": "push runs",
    "opsapp.notify.engine.routes.move": "messages",
    "opsapp.oncall.engine.escalations.move": "escalations",
    "opsapp.runtime.deletions.move": "deletions",
    "opsapp.statuspages.engine.dispatch.move": "letters",
}
Move = Callable[[Any, float], Any]
GoOn = Callable[[Any], bool]


class ClockStep(NamedTuple):
    """`at`: by the clock after the step; `by`: seconds, less than 0 when set back."""

    number: int
    at: float
    by: float
    monotonic: float

    def __str__(self) -> str:
        return f"set {'forward' if self.by > 0 else 'back'} by {roughly(abs(self.by))}"

    def told(self, node: Any) -> str:
        """The step as health and doctor tell it later."""
        ago = roughly(node.clock.monotonic() - self.monotonic)
        return f"the clock of {node.name} was {self} ({ago} ago)"


class Carried:
    """`name`: in the store, whatever becomes of the functions. `move(root, by)`: transaction function. `go_on(root)`:
    another, for the rest of a move in pieces, until it answers False. `by`: what is still to be moved. `looked_in`:
    the token of the lease in which nothing was left of a move that somebody else began."""

    def __init__(self, lease: str, name: str, move: Move, go_on: GoOn | None):
        self.lease, self.name, self.move, self.go_on, self.by = lease, name, move, go_on, 0.0
        self.looked_in: int | None = None


def _moved_at(root: Any) -> tuple[float, dict[str, float]]:
    """Up to where the store's times went when all was moved last; and each queue, where that was later."""
    by_name = {BEFORE.get(name, name): at for name, at in root.system.get(MOVED_OF, {}).items()}
    return float(root.system.get(MOVED, 0.0)), by_name


def _note_moved(root: Any, at: float) -> None:
    root.system[MOVED] = at


class Moves(NamedTuple):
    """By what each queue of a lease moves. `at`: the clock after the step. `newest`: the time of the last commit, where
    nobody else uses the store."""

    lease: str
    queues: list[tuple[Carried, float]]
    at: float
    newest: float | None


def _move(root: Any, moves: Moves, leases: Any) -> None:
    """Move all of a lease, with a mark beside it: after a kill nothing moves a second time."""
    for queue, by in moves.queues:
        queue.move(root, by)
    if moves.newest is None:
        leases.stamp(root, moves.lease, moves.at)
    else:
        noted = {queue.name: moves.newest for queue, _ in moves.queues}
        root.system[MOVED_OF] = {**root.system.get(MOVED_OF, {}), **noted}


class ClockSteps:
    """One node's. Lives on the hub."""

    def __init__(self, node: Any):
        self._node = node
        self._followers: list[Callable[[float], object]] = []
        self._carried: dict[str, Carried] = {}
        self._seen: deque[ClockStep] = deque(maxlen=KEPT)
        self.untold: deque[ClockStep] = deque(maxlen=KEPT)
        self._missed = 0.0  # by which the clock was set back while the service was down
        self._moved_of: dict[str, float] = {}  # queues that were moved since, before the process ended
        self._moving = 0  # queues whose transaction is under way
        self._is_noted = True  # in the store, that what is due in it was moved

    def follow(self, moved: Callable[[float], object]) -> None:
        """Call `moved(by)` on the hub, before anybody asks for the new time. It must not wait."""
        self._followers.append(moved)

    def carry(self, lease: str, name: str, move: Move, go_on: GoOn | None = None) -> None:
        """`move(root, by)` in a transaction of the lease's holder, which it checks itself. For thousands, it only
        writes down what is to be moved, and each `go_on` moves a piece; after a kill, whoever works the queue, or has
        the lease next, moves the rest first. `name` is in the store: it stays."""
        queue = self._carried.setdefault(name, Carried(lease, name, move, go_on))
        queue.by += 0.0 if queue.name in self._moved_of else self._missed

    def start(self) -> None:
        self._node.clock.hold()
        if self._node.exclusive:
            self._look_at_the_store()
        self._node.supervisor.keeps_all = self.is_far_ahead
        self._node.supervisor.add("clock", self.step, every=EVERY_S)

    def _newest(self) -> float:
        """While the clock is behind it, commits have times just after it."""
        return float(TimeStamp(self._node.store.db.lastTransaction()).timeTime())

    def _look_at_the_store(self) -> None:
        """Changes from times to come: the clock was set back while the service was down, unless what is due was moved
        since. On a shared store another node's clock may be right."""
        newest = self._newest()
        by = self._node.clock.now() - newest
        moved_at, moved_of = self._node.transact(_moved_at)
        if by > -STEP_S or newest <= moved_at + STEP_S:
            return
        self._moved_of = {name: at for name, at in moved_of.items() if newest <= at + STEP_S}
        self._missed, self._is_noted = by, False
        self._note(by)

    def step(self) -> bool:
        """What is stored moves before the time goes forward and after it went back: for a moment it is late, and never
        too early."""
        clock = self._node.clock
        off = clock.off()
        by = off if abs(off) >= STEP_S else 0.0
        for queue in self._carried.values():
            queue.by += by
        if by > 0:
            self._carry(off)
        clock.move(off)
        if by:
            self._is_noted = False
            for moved in self._followers:
                moved(by)
            self._note(by)
        self._carry()
        return False

    def _carry(self, ahead: float = 0.0) -> None:
        """A queue whose lease another node holds goes by that one's clock. `ahead`: what the clock is still to be moved
        by."""
        self._finish()
        due: dict[str, list[tuple[Carried, float]]] = defaultdict(list)
        for queue in list(self._carried.values()):
            by, queue.by = queue.by, 0.0  # before the transaction: others may come here meanwhile
            if abs(by) >= LEFT_S and queue.lease in self._node.leases.held:
                due[queue.lease].append((queue, by))
        for lease, queues in due.items():
            newest = self._newest() if self._node.exclusive else None
            self._move_queues(Moves(lease, queues, self._node.clock.now() + ahead, newest))
        waits = self._moving or any(queue.by for queue in self._carried.values())
        if not self._is_noted and self._node.exclusive and not waits:
            self._node.transact(_note_moved, self._newest())
            self._missed, self._moved_of, self._is_noted = 0.0, {}, True

    def _move_queues(self, moves: Moves) -> None:
        self._moving += 1  # others may come here meanwhile: nothing is moved before it is committed
        try:
            self._node.transact(_move, moves, self._node.leases)
        except StoreAway as away:
            for queue, by in moves.queues:
                queue.by += by
            log.warning("what is due was not moved with the clock yet: %s", away)
        except (Conflict, OutcomeUnknown) as unsure:
            log.warning("what is due may not have been moved with the clock: %s", unsure)
        else:
            for queue, _ in moves.queues:
                self._go_on(queue)
        finally:
            self._moving -= 1

    def _finish(self) -> None:
        """What the holder of a lease before was killed over is moved once the lease is ours."""
        for queue in list(self._carried.values()):
            token = self._node.leases.held.get(queue.lease)
            if token is not None and queue.looked_in != token:
                queue.looked_in = token
                self._go_on(queue)

    def _go_on(self, queue: Carried) -> None:
        """What is not moved now is moved by whoever works the queue next, or here when the store is back."""
        try:
            while queue.go_on is not None and self._node.transact(queue.go_on):
                self._node.hub.breathe()
        except (StoreAway, Conflict, OutcomeUnknown) as unsure:
            queue.looked_in = None
            log.warning("the rest of what is due is moved with the clock later: %s", unsure)

    def take_over(self, lease: str, by: float) -> None:
        """What waits under the lease was put there by a clock that is so many seconds off this one."""
        log.warning("the clock of who had a lease before was off ours lease=%s seconds=%+.1f", lease, -by)
        for queue in self._carried.values():
            queue.by += by if queue.lease == lease else 0.0
        self._carry()

    def _note(self, by: float) -> None:
        clock = self._node.clock
        number = self._seen[-1].number + 1 if self._seen else 1
        step = ClockStep(number, clock.now(), by, clock.monotonic())
        self._seen.append(step)
        self.untold.append(step)
        log.warning("the clock of this machine was %s seconds=%+.1f", step, by)
        self._node.wake(WAKE)

    def is_far_ahead(self) -> bool:
        """Whether the clock went more than a day forward within the last day, and not back: everything would look old,
        and what is deleted does not come back."""
        since = self._node.clock.monotonic() - DAY_S
        return sum(step.by for step in self._seen if step.monotonic >= since) > DAY_S

    def recent(self) -> list[ClockStep]:
        """Steps of the last hour."""
        since = self._node.clock.monotonic() - SHOWN_S
        return [step for step in self._seen if step.monotonic >= since]
