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

from opsapp.lib.durations import roughly
from opsapp.lib.problems import Conflict, OutcomeUnknown, StoreAway

log = logging.getLogger(__name__)

EVERY_S = 1.0
SHOWN_S = 3600.0  # for so long health tells of a step
KEPT = 20
WAKE = "clock"  # whoever has to do something about a step
LEFT_S = 1e-6


class ClockStep(NamedTuple):
    """`at`: by the clock as it is since; `by`: seconds it was set forward, or back where they are less than 0."""

    number: int
    at: float
    by: float
    monotonic: float

    def __str__(self) -> str:
        return f"set {'forward' if self.by > 0 else 'back'} by {roughly(abs(self.by))}"


class Carried:
    """A queue in the store. `move(root, by)`: a transaction function. `by`: what it has not been moved by yet."""

    def __init__(self, lease: str, move: Callable[[Any, float], Any]):
        self.lease, self.move, self.by = lease, move, 0.0


class ClockSteps:
    """One node's. Lives on the hub."""

    def __init__(self, node: Any):
        self._node = node
        self._followers: list[Callable[[float], object]] = []
        self._carried: dict[Callable[[Any, float], Any], Carried] = {}
        self._seen: deque[ClockStep] = deque(maxlen=KEPT)
        self.untold: deque[ClockStep] = deque(maxlen=KEPT)

    def follow(self, moved: Callable[[float], object]) -> None:
        """`moved(by)` on the hub, before anybody else asks for the new time. It must not wait."""
        self._followers.append(moved)

    def carry(self, lease: str, move: Callable[[Any, float], Any]) -> None:
        """`move(root, by)` in a transaction of the node that holds the lease. It checks that itself."""
        self._carried.setdefault(move, Carried(lease, move))

    def start(self) -> None:
        self._node.clock.hold()
        self._node.supervisor.add("clock", self.step, every=EVERY_S)

    def step(self) -> bool:
        """Look at the machine's clock. What is stored moves before the time goes forward and after it went back: for a
        moment it is late then, and never too early."""
        clock = self._node.clock
        by = clock.stepped()
        for queue in self._carried.values():
            queue.by += by
        if by > 0:
            self._carry()
        clock.look()
        if by:
            for moved in self._followers:
                moved(by)
            self._note(by)
        self._carry()
        return False

    def _carry(self) -> None:
        """A queue whose lease another node holds is worked by that one's clock."""
        for queue in self._carried.values():
            if abs(queue.by) < LEFT_S:
                continue
            if queue.lease in self._node.leases.held:
                try:
                    self._node.transact(queue.move, queue.by)
                except StoreAway as away:
                    log.warning("what is due was not moved with the clock yet: %s", away)
                    continue
                except (Conflict, OutcomeUnknown) as unsure:
                    log.warning("what is due may not have been moved with the clock: %s", unsure)
            queue.by = 0.0

    def _note(self, by: float) -> None:
        clock = self._node.clock
        number = self._seen[-1].number + 1 if self._seen else 1
        step = ClockStep(number, clock.now(), by, clock.monotonic())
        self._seen.append(step)
        self.untold.append(step)
        log.warning("the clock of this machine was %s seconds=%+.1f", step, by)
        self._node.wake(WAKE)

    def recent(self) -> list[ClockStep]:
        """Steps of the last hour."""
        since = self._node.clock.monotonic() - SHOWN_S
        return [step for step in self._seen if step.monotonic >= since]
