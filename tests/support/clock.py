"""A clock that stands still until a test moves it."""

from opsapp.runtime.clock import Clock


class FakeClock(Clock):
    def __init__(self, now: float = 1_800_000_000.0):
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds
