"""Steps of the machine's clock: noticed here, and everything that remembers moments moves with the clock.

One rule for all: who measures how long ago something was, or how long it still has, adds what the clock was set by to
the moments it remembers, so that the time between then and now stays what it was. In memory that happens in the same
turn of the hub in which the service takes over the new time (`follow`). What is stored and waits for its time is moved
in a transaction by the node that holds the lease of its queue (`carry`). Records of what was, and moments that people
have named (schedules, windows, ends of sessions and approvals), stay as they are. ADR 096 has the list.
"""

from __future__ import annotations

import logging
from collections import deque
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


class ClockStep(NamedTuple):
    """`at`: by the clock as it is since; `by`: seconds it was set forward, or back where they are less than 0."""

    number: int
    at: float
    by: float
    monotonic: float

    def __str__(self) -> str:
        return f"set {'forward' if self.by > 0 else 'back'} by {roughly(abs(self.by))}"

    def told(self, node: Any) -> str:
        """As history."""
        ago = roughly(node.clock.monotonic() - self.monotonic)
        return f"the clock of {node.name} was {self} ({ago} ago)"


class Carried:
    """A queue in the store. `move(root, by)`: a transaction function. `by`: what it has not been moved by yet."""

    def __init__(self, lease: str, move: Callable[[Any, float], Any]):
        self.lease, self.move, self.by = lease, move, 0.0


def _moved_at(root: Any) -> float:
    return float(root.system.get(MOVED, 0.0))


def _note_moved(root: Any, at: float) -> None:
    root.system[MOVED] = at


class ClockSteps:
    """One node's. Lives on the hub."""

    def __init__(self, node: Any):
        self._node = node
        self._followers: list[Callable[[float], object]] = []
        self._carried: dict[Callable[[Any, float], Any], Carried] = {}
        self._seen: deque[ClockStep] = deque(maxlen=KEPT)
        self.untold: deque[ClockStep] = deque(maxlen=KEPT)
        self._missed = 0.0  # by which the clock was set back while the service was down
        self._is_noted = True  # in the store, that what is due in it was moved

    def follow(self, moved: Callable[[float], object]) -> None:
        """`moved(by)` on the hub, before anybody else asks for the new time. It must not wait."""
        self._followers.append(moved)

    def carry(self, lease: str, move: Callable[[Any, float], Any]) -> None:
        """`move(root, by)` in a transaction of the node that holds the lease. It checks that itself."""
        queue = self._carried.setdefault(move, Carried(lease, move))
        queue.by += self._missed

    def start(self) -> None:
        self._node.clock.hold()
        if self._node.exclusive:
            self._look_at_the_store()
        self._node.supervisor.keeps_all = self.is_far_ahead
        self._node.supervisor.add("clock", self.step, every=EVERY_S)

    def _newest(self) -> float:
        """The time of the last commit. While the clock is behind it, commits have times just after it."""
        return float(TimeStamp(self._node.store.db.lastTransaction()).timeTime())

    def _look_at_the_store(self) -> None:
        """Changes from times to come say that the clock was set back while the service was down, unless what is due was
        moved since. Of a store that others use too, another node's clock may be right."""
        newest = self._newest()
        by = self._node.clock.now() - newest
        if by > -STEP_S or newest <= self._node.transact(_moved_at) + STEP_S:
            return
        self._missed, self._is_noted = by, False
        self._note(by)

    def step(self) -> bool:
        """Look at the machine's clock. What is stored moves before the time goes forward and after it went back: for a
        moment it is late then, and never too early."""
        clock = self._node.clock
        off = clock.off()
        by = off if abs(off) >= STEP_S else 0.0
        for queue in self._carried.values():
            queue.by += by
        if by > 0:
            self._carry()
        clock.move(off)
        if by:
            self._is_noted = False
            for moved in self._followers:
                moved(by)
            self._note(by)
        self._carry()
        return False

    def _carry(self) -> None:
        """A queue whose lease another node holds is worked by that one's clock."""
        for queue in list(self._carried.values()):
            by, queue.by = queue.by, 0.0  # before the transaction: others may come here meanwhile
            if abs(by) < LEFT_S or queue.lease not in self._node.leases.held:
                continue
            try:
                self._node.transact(queue.move, by)
            except StoreAway as away:
                queue.by += by
                log.warning("what is due was not moved with the clock yet: %s", away)
            except (Conflict, OutcomeUnknown) as unsure:
                log.warning("what is due may not have been moved with the clock: %s", unsure)
        if not self._is_noted and self._node.exclusive and not any(queue.by for queue in self._carried.values()):
            self._node.transact(_note_moved, self._newest())
            self._missed, self._is_noted = 0.0, True

    def take_over(self, lease: str, by: float) -> None:
        """What waits under a lease was put there by a clock that is so many seconds off this one."""
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
        """Whether the clock went forward by more than a day, within the last day, and did not come back: everything
        would look old that is not, and what is deleted does not come back either."""
        since = self._node.clock.monotonic() - DAY_S
        return sum(step.by for step in self._seen if step.monotonic >= since) > DAY_S

    def recent(self) -> list[ClockStep]:
        """Steps of the last hour."""
        since = self._node.clock.monotonic() - SHOWN_S
        return [step for step in self._seen if step.monotonic >= since]
