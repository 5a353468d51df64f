"""Supervised greenlets: each repeats one small step for as long as it finds work, then waits.

A step answers whether it did work. One that fails is tried again with back-off; one that keeps failing takes the
process down, because half a service that looks whole is worse than a restart. What cannot be read in the store cannot
be read after a restart either: then the process stays, and health names the step.

Steps that wait for a `PULSE_S` or longer begin with the supervisor's pulse, many in one wake; one for which there can
be nothing (`look`) is passed over.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import gevent
from gevent.event import Event

from opsapp.lib.problems import StoreAway
from opsapp.runtime.clocks.clock import Clock
from opsapp.tree.damage import is_of_the_store
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import Between

log = logging.getLogger(__name__)

GIVE_UP_AFTER = 30
LONGEST_BACKOFF_S = 5.0
PULSE_S = 0.25
NEVER = float("inf")
Pace = float | Callable[[], float]  # seconds between two steps


@frozen
class WorkerState:
    """`late_s`: None before its first work, and where another node has its lease."""

    name: str
    late_s: float | None
    errors: Annotated[int, Between(0)]
    last_error: str | None


class Stillness(Protocol):
    """Knows when there can be nothing for a step (`runtime.looks`): it hears when the step begins and when it has found
    nothing."""

    def begin(self) -> None: ...

    def found_nothing(self) -> None: ...

    def is_still(self) -> bool: ...


class Worker:
    """`lease`: it works only while this node holds that lease. `look`: knows when there can be nothing for it."""

    def __init__(
        self,
        supervisor: Supervisor,
        name: str,
        step: Callable[[], Any],
        every: Pace,
        lease: str | None,
        look: Stillness | None,
        cleans: bool,
    ):
        self.supervisor = supervisor
        self.name = name
        self.step = step
        self._every = every
        self._look = look
        self._waits = 0.0  # after its last step, until the next
        self._due = NEVER  # when the pulse begins the next step, on the machine's monotonic clock
        self.lease = lease
        self._cleans = cleans
        self.event = Event()
        self.working = False
        self.last_step: float | None = None
        self.last_error: str | None = None
        self.errors = 0
        self.failures_in_a_row = 0

    @property
    def every(self) -> float:
        return self._every() if callable(self._every) else self._every

    def run(self) -> None:
        while True:
            self.event.clear()
            wait = self._work()
            if wait < PULSE_S:
                self._wait_for(wait)
            else:
                self._due = time.monotonic() + wait
                self.event.wait()
                self._due = NEVER

    def _wait_for(self, seconds: float) -> None:
        # A timer that sets the event, because a wait that times out is thrown an exception: ten times the work.
        timer = gevent.get_hub().loop.timer(seconds)
        timer.start(self.event.set)
        try:
            self.event.wait()
        finally:
            timer.stop()
            timer.close()

    def pulse(self, now: float) -> None:
        """Work if it is due, to the nearest pulse; unless there is nothing for it."""
        if now < self._due - PULSE_S / 2:
            return
        if self._look is not None and self._may_work() and self._look.is_still():
            self._went_well()
            self._due = now + self._waits
        else:
            self.event.set()

    def _work(self) -> float:
        """Work until there is no more work; answer how long to wait then."""
        if not self._may_work():
            self.last_step = None  # another node does it: what this one did last says nothing about being late
            return min(self.every, 0.5)
        self.working = True
        try:
            if self._look is not None:
                self._look.begin()
            while self.step() and self._may_work():
                self._went_well()
                gevent.sleep(0)
            if self._look is not None:
                self._look.found_nothing()
            self._went_well()
        except StoreAway as away:
            self.last_error = str(away)
            return 0.5
        except Exception as problem:  # noqa: BLE001 - logged and counted by _went_wrong
            return self._went_wrong(problem)
        finally:
            self.working = False
        self._waits = self.every
        return self._waits

    def _may_work(self) -> bool:
        if self._cleans and self.supervisor.keeps_all():
            return False
        return self.lease is None or self.supervisor.holds(self.lease)

    def _went_well(self) -> None:
        self.last_step = self.supervisor.clock.monotonic()
        self.failures_in_a_row = 0

    def _went_wrong(self, problem: Exception) -> float:
        self.errors += 1
        self.failures_in_a_row += 1
        self.last_error = f"{type(problem).__name__}: {problem}"
        log.exception("step failed worker=%s in_a_row=%d", self.name, self.failures_in_a_row)
        if self.failures_in_a_row >= GIVE_UP_AFTER and not is_of_the_store(problem):
            self.supervisor.give_up(self.name)
        return random.uniform(0.5, 1.0) * min(LONGEST_BACKOFF_S, 0.05 * 2**self.failures_in_a_row)

    def status(self) -> WorkerState:
        now, last = self.supervisor.clock.monotonic(), self.last_step if self._may_work() else None
        late = None if last is None else max(0.0, now - last - self._waits)
        return WorkerState(self.name, late, self.errors, self.last_error)


class Supervisor:
    def __init__(self, clock: Clock):
        self.clock = clock
        self.leases: list[str] = []  # that its workers need
        self.holds: Callable[[str], bool] = lambda lease: False
        self.keeps_all: Callable[[], bool] = lambda: False  # nobody can tell what is old
        self.workers: dict[str, Worker] = {}
        self._woken: dict[str, list[Worker]] = {}  # by the name that wakes them
        self.gave_up: str | None = None
        self.on_give_up: Callable[[], None] | None = None
        self._greenlets: list[Any] = []
        self._pulse: Any = None
        self._running = False

    def add(
        self,
        name: str,
        step: Callable[[], Any],
        *,
        every: Pace,
        wake: tuple[str, ...] = (),
        lease: str | None = None,
        look: Stillness | None = None,
        cleans: bool = False,
    ) -> Worker:
        """It starts with the others, or at once when they run already. `every`: seconds, or a function for what the
        configuration may change. `look`: see Worker; who is woken does not ask it. `cleans`: it deletes what is old."""
        if name in self.workers:
            raise ValueError(f"there is a worker {name!r} already")
        worker = self.workers[name] = Worker(self, name, step, every, lease, look, cleans)
        for waker in wake:
            self._woken.setdefault(waker, []).append(worker)
        if lease is not None and lease not in self.leases:
            self.leases.append(lease)
        if self._running:
            self._spawn(worker)
        return worker

    def start(self) -> None:
        self._running = True
        for worker in self.workers.values():
            self._spawn(worker)
        self._pulse = gevent.get_hub().loop.timer(PULSE_S, PULSE_S)
        self._pulse.start(self._beat)

    def _beat(self) -> None:
        now = time.monotonic()
        for worker in self.workers.values():
            worker.pulse(now)

    def _spawn(self, worker: Worker) -> None:
        greenlet = gevent.spawn(worker.run)
        greenlet.name = worker.name
        self._greenlets.append(greenlet)

    def spawn(self, fn: Callable[..., Any], *values: Any) -> Any:
        """A one-off greenlet that ends with the others at the latest."""
        greenlet = gevent.spawn(self._one_off, fn, *values)
        self._greenlets = [g for g in self._greenlets if not g.dead]
        self._greenlets.append(greenlet)
        return greenlet

    @staticmethod
    def _one_off(fn: Callable[..., Any], *values: Any) -> None:
        try:
            fn(*values)
        except Exception:
            log.exception("greenlet failed: %r", fn)

    def wake(self, name: str) -> None:
        """Wake every worker that waits on this name, on the hub: it looks at once."""
        for worker in self._woken.get(name, ()):
            worker.event.set()

    def busy_leases(self) -> set[str]:
        """Leases under which a step is under way."""
        return {worker.lease for worker in self.workers.values() if worker.working and worker.lease is not None}

    def stop(self) -> None:
        self._running = False
        if self._pulse is not None:
            self._pulse.stop()
            self._pulse.close()
            self._pulse = None
        gevent.killall(self._greenlets, timeout=2.0)
        self._greenlets = []

    def give_up(self, name: str) -> None:
        self.gave_up = name
        self.leave(f"giving up: worker {name} failed {GIVE_UP_AFTER} times in a row")

    def leave(self, why: str) -> None:
        """Say so and end the process (the server's `on_give_up` does it)."""
        log.critical("%s", why)
        if self.on_give_up is not None:
            self.on_give_up()

    def stuck(self) -> list[str]:
        """Steps that have failed for so long that only what they read can be at fault, and why."""
        stuck = [worker for worker in self.workers.values() if worker.failures_in_a_row >= GIVE_UP_AFTER]
        return [f"{worker.name} fails each time: {worker.last_error}" for worker in stuck]

    def status(self) -> list[WorkerState]:
        return [worker.status() for worker in self.workers.values()]
