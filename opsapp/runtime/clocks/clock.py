"""The one clock: everything asks the node's, so that tests can own it.

A wall clock is set by people and time servers. From `hold` on (`steps`) the time is counted on the monotonic
clock, and only `move` takes over what the wall clock was set by: whoever remembers moments hears of it first.
"""

import time

STEP_S = 9.5  # so much is no clock that runs fast or slow: one that was set by 10 s, seen a moment later


class Clock:
    """Wall time for records, monotonic time for waiting, measuring, and what is newer than what."""

    _ahead: float | None = None  # of the wall clock to the monotonic one, as it is counted; None: nobody looks

    def wall(self) -> float:
        return time.time()

    def now(self) -> float:
        ahead = self._ahead
        return self.wall() if ahead is None else self.monotonic() + ahead

    monotonic = staticmethod(time.monotonic)  # asked five times in a check

    def hold(self) -> None:
        """The time goes on evenly from now on, until somebody moves it."""
        self._ahead = self.wall() - self.monotonic()

    def off(self) -> float:
        """Seconds by which the machine's clock is ahead of the counted time."""
        return self.wall() - self.now()

    def move(self, by: float) -> None:
        """Count on from so many seconds later, or earlier."""
        if self._ahead is not None:
            self._ahead += by
