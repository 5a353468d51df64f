"""The one clock. Everything that asks for the time asks the node's clock, so that tests can own it."""

import time


class Clock:
    """Wall time for records, monotonic time for waiting and measuring."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()
