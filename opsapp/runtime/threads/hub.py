"""Crossing between the hub and native threads: wake-ups, posted calls, bounded lanes.

The hub owns sockets and clocks, native threads own transactions and whatever blocks. Nothing is monkey-patched.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any

import gevent
from gevent.hub import Waiter

from opsapp.runtime.atwork import at_hand, within

from .fair import NOBODY, FairQueue, Whose
from .times import Progress

log = logging.getLogger(__name__)

LEAVE_AFTER_S = 1.0
LOOK_EVERY_S = 0.004
LONG_S = 0.05  # of processor time


def _captured(fn: Callable[..., Any], values: tuple[Any, ...]) -> tuple[bool, Any]:
    """Call `fn` in a fresh context; exceptions are values, for a thread must outlive its tasks."""
    try:
        return True, contextvars.Context().run(fn, *values)
    except BaseException as problem:  # noqa: BLE001 - handed to the caller, who raises it
        return False, problem


class Lane:
    """Blocking work in a few native threads. On the hub the calling greenlet waits; in a thread it runs inline.

    gevent's pool costs 16 microseconds a call, these threads 2.
    """

    def __init__(self, hub: Hub, name: str, size: int):
        self.name = name
        self.size = size
        self._hub = hub
        self._tasks = FairQueue()
        self._threads: list[threading.Thread] = []

    def run(self, fn: Callable[..., Any], *values: Any) -> Any:
        return self.run_for(NOBODY, fn, *values)

    def run_for(self, whose: Whose, fn: Callable[..., Any], *values: Any) -> Any:
        """It waits behind the other calls of the same caller, not behind everybody's."""
        if not self._hub.is_here():
            return fn(*values)
        if not self._threads:
            self._start()
        waiter, work = Waiter(), at_hand()
        if work is not None:
            fn, values = within, (work, fn, *values)
        self._tasks.put((waiter, fn, values), whose)
        well, answer = waiter.get()
        if well:
            return answer
        raise answer

    def _start(self) -> None:
        for number in range(self.size):
            self._add_thread(self._work, number)

    def _add_thread(self, work: Callable[[], None], number: int) -> None:
        thread = threading.Thread(target=work, name=f"{self.name}-{number}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            waiter, fn, values = task
            self._hub.answer(waiter, _captured(fn, values))
            del task, waiter, fn, values  # nothing of a task is kept alive until the next one comes

    def waiting(self) -> int:
        return self._tasks.qsize()

    def close(self) -> None:
        """The threads finish what they were given. One that hangs is not waited for long, and as a daemon does not hold
        the process."""
        for _ in self._threads:
            self._tasks.put(None)
        self._join()

    def _join(self) -> None:
        deadline = time.monotonic() + LEAVE_AFTER_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._threads = []


class LeadLane(Lane):
    """A lane for short work that is mostly Python. One thread leads and does all of it while it progresses: two threads
    that take the interpreter from each other cost a third of the requests a second. The others help while the leader
    waits for a disk or a server, or is long at one task; not while it waits for a processor or the interpreter, for
    they would make that wait longer."""

    def __init__(self, hub: Hub, name: str, size: int):
        super().__init__(hub, name, size)
        self._calls: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._held_up = False
        self._began = inf  # the leader's task, by its own processor time
        self._timer: Any = None
        self._progress: Progress | None = None

    def run_for(self, whose: Whose, fn: Callable[..., Any], *values: Any) -> Any:
        if self._timer is not None and not self._timer.active and self._progress and self._hub.is_here():
            self._progress.begin()
            self._timer.start(self._look, self._progress)
        return super().run_for(whose, fn, *values)

    def _start(self) -> None:
        self._add_thread(self._lead, 0)
        for number in range(1, self.size):
            self._add_thread(self._help, number)
        if self.size > 1:
            self._progress = Progress(self._threads[0], threading.current_thread())
            self._timer = gevent.get_hub().loop.timer(LOOK_EVERY_S, LOOK_EVERY_S)

    def _lead(self) -> None:
        while (task := self._tasks.get()) is not None:
            self._began = time.thread_time()
            self._do(*task)
            self._began = inf
            del task

    def _help(self) -> None:
        while self._calls.get():
            while (task := self._next()) is not None:
                self._do(*task)
                del task
                if not self._held_up:
                    break

    def _next(self) -> Any:
        try:
            task = self._tasks.get_nowait()
        except queue.Empty:
            return None
        if task is None:
            self._tasks.put(None)  # the leader's sign to end
        return task

    def _do(self, waiter: Waiter, fn: Callable[..., Any], values: tuple[Any, ...]) -> None:
        self._hub.answer(waiter, _captured(fn, values))

    def _look(self, progress: Progress) -> None:
        """Look at the progress on the hub, every few milliseconds while there is work."""
        if not self._tasks.qsize():
            self._held_up = False
            self._timer.stop()
            return
        self._held_up = progress.is_held_up() or progress.used - self._began > LONG_S
        if self._held_up:
            for _ in range(self.size - 1 - self._calls.qsize()):
                self._calls.put(True)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
            self._timer = None
        if self._progress is not None:
            self._progress.close()
            self._progress = None
        if not self._threads:
            return
        self._held_up = True
        for _ in self._threads[1:]:
            self._calls.put(True)
            self._calls.put(False)
        self._tasks.put(None)
        self._join()


class Hub:
    """The thread that runs greenlets, once entered; until then every call is inline."""

    def __init__(self) -> None:
        self._thread: int | None = None
        self._async: Any = None
        # Whoever holds it may be made to ask for it again: the collector ends a greenlet that nobody knows any more in
        # whatever instruction it comes, and what that one's `finally` calls may post.
        self._crossing = threading.RLock()
        self._answered: deque[tuple[Waiter, tuple[bool, Any]]] = deque()
        self._posted: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()

    def enter(self) -> None:
        self._thread = threading.get_ident()
        self._async = gevent.get_hub().loop.async_()
        self._async.start(self._arrived)

    def leave(self) -> None:
        self._drain()
        with self._crossing:
            bell, self._thread, self._async = self._async, None, None
            if bell is not None:
                bell.stop()
                bell.close()

    @property
    def running(self) -> bool:
        return self._thread is not None

    def is_here(self) -> bool:
        return self._thread == threading.get_ident()

    def breathe(self) -> None:
        """On the hub, every other greenlet has its turn. Elsewhere this does nothing."""
        if self.is_here():
            gevent.sleep(0)

    def post(self, fn: Callable[..., Any], *values: Any) -> None:
        """Run `fn` soon, in a greenlet of its own on the hub. Any thread may call this. Without a hub it runs now."""
        if not self.running:
            fn(*values)
            return
        self._posted.append((fn, values))
        self._signal()

    def answer(self, waiter: Waiter, outcome: tuple[bool, Any]) -> None:
        """A lane's thread wakes the greenlet that waits. Once the hub has been left there is nobody to wake."""
        self._answered.append((waiter, outcome))
        self._signal()

    def _signal(self) -> None:
        with self._crossing:
            if self._async is not None:
                self._async.send()

    def _arrived(self) -> None:
        while self._answered:
            waiter, outcome = self._answered.popleft()
            waiter.switch(outcome)
        self._drain()

    def _drain(self) -> None:
        while self._posted:
            fn, values = self._posted.popleft()
            gevent.spawn(self._logged, fn, values)

    @staticmethod
    def _logged(fn: Callable[..., Any], values: tuple[Any, ...]) -> None:
        try:
            fn(*values)
        except Exception:
            log.exception("posted call failed: %r", fn)
