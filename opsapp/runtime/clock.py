"""The one clock. Everything that asks for the time asks the node's clock, so that tests can own it.

A wall clock lies: somebody sets it, or a time server does. So where somebody looks after it (`clocksteps`) the time is
counted on the monotonic clock from `hold` on, and what the wall clock has been set by is taken over by `move` and by
nothing else: whoever remembers moments hears of it first.
"""

import time

STEP_S = 9.5  # so much is no clock that runs fast or slow: one that was set by 10 s, seen a moment later


class Clock:
    """Wall time for records, monotonic time for waiting, measuring, and what is newer than what."""

    _ahead: float | None = None  # of the wall clock to the monotonic one, as it is counted; None: nobody looks

    def wall(self) -> float:
        """What the machine's clock shows, in seconds since the epoch."""
        return time.time()

    def now(self) -> float:
        """Seconds since the epoch."""
        ahead = self._ahead
        return self.wall() if ahead is None else self.monotonic() + ahead

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def hold(self) -> None:
        """From now on the time goes on evenly until somebody moves it."""
        self._ahead = self.wall() - self.monotonic()

    def off(self) -> float:
        """By how many seconds the machine's clock is ahead of the time as it is counted."""
        return self.wall() - self.now()

    def move(self, by: float) -> None:
        """Count on from so many seconds later, or earlier."""
        if self._ahead is not None:
            self._ahead += by
