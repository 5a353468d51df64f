"""A clock that stands still until a test moves it."""

from opsapp.runtime.clocks.clock import Clock


class FakeClock(Clock):
    """It begins at 2055-01-15 08:00 UTC, a Friday: commits carry the machine's own time, which must be earlier."""

    def __init__(self, now: float = 2_683_612_800.0):
        self._now = now
        self._monotonic = 1000.0
        self._set_by = 0.0

    def wall(self) -> float:
        return self._now + self._set_by

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds

    def set_by(self, seconds: float) -> None:
        """Somebody sets the machine's clock: time does not pass, and the service has not seen it yet."""
        self._set_by += seconds

    def move(self, by: float) -> None:
        self._now += by
        self._set_by -= by
