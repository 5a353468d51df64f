"""How long the hub keeps a greenlet waiting: a greenlet that ticks every millisecond notes how late each tick was."""

import time
from typing import NamedTuple

import gevent


class Lateness(NamedTuple):
    """Milliseconds."""

    p50: float
    p99: float
    worst: float
    ticks: int


class Stall:
    """`with Stall() as stall: ...` on the hub; then `stall.lateness()`."""

    def __init__(self, every=0.001):
        self.every = every
        self.late = []
        self._greenlet = None

    def _tick(self):
        due = time.perf_counter() + self.every
        while True:
            gevent.sleep(max(0.0, due - time.perf_counter()))
            now = time.perf_counter()
            self.late.append(max(0.0, now - due))
            due = now + self.every

    def start(self):
        self._greenlet = gevent.spawn(self._tick)
        return self

    def stop(self):
        self._greenlet.kill()

    def reset(self):
        self.late.clear()

    def lateness(self):
        ordered = sorted(self.late)
        if not ordered:
            raise ValueError("no tick was noted")
        return Lateness(
            ordered[len(ordered) // 2] * 1000,
            ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] * 1000,
            ordered[-1] * 1000,
            len(ordered),
        )

    __enter__ = start

    def __exit__(self, *_error):
        self.stop()
