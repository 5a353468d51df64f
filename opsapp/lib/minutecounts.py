"""How often each of many has done something within the last minute, in memory. Written by many threads."""

from __future__ import annotations

import threading
from collections import deque

from .problems import TooMany

MINUTE_S = 60.0


class MinuteCounts:
    def __init__(self) -> None:
        self._recent: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def admit(self, who: str, most: int, now: float, what: str) -> None:
        """Counts one more of `what`. TooMany where there were `most` already: what is refused is not counted."""
        with self._lock:
            for name in [name for name, times in self._recent.items() if times[-1] <= now - MINUTE_S]:
                del self._recent[name]
            times = self._recent.setdefault(who, deque())
            while times and times[0] <= now - MINUTE_S:
                times.popleft()
            if len(times) >= most:
                wait = times[0] + MINUTE_S - now
                raise TooMany(f"At most {most} {what} a minute. Wait {wait:.0f} seconds.", retry_after=wait)
            times.append(now)
