"""The one clock. Everything that asks for the time asks the node's clock, so that tests can own it.

A wall clock lies: somebody sets it, or a time server does. So where somebody looks after it (`hold`, then `look` again
and again) the time is counted on the monotonic clock, and what the wall clock has been set by is taken over in `look`
and nowhere else: whoever remembers moments hears of it there (`clocksteps`).
"""

import time

STEP_S = 10.0  # what a clock is off by more than this did not come from running fast or slow


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
        """From now on the time goes on evenly until somebody looks."""
        self._ahead = self.wall() - self.monotonic()

    def stepped(self) -> float:
        """By how many seconds the machine's clock has been set since the last look; 0.0 where it was not."""
        by = self.wall() - self.now()
        return by if abs(by) >= STEP_S else 0.0

    def look(self) -> None:
        """Go by what the machine's clock shows."""
        self._ahead = self.wall() - self.monotonic()
