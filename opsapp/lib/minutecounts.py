"""How often each of many has done something within the last minute, in memory. Written by many threads."""

from __future__ import annotations

import threading
from collections import deque

MINUTE_S = 60.0


class MinuteCounts:
    def __init__(self) -> None:
        self._recent: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, who: str, most: int, now: float) -> float:
        """Counts one more, unless there were `most` already: then how many seconds to wait for the next."""
        with self._lock:
            for name in [name for name, times in self._recent.items() if times[-1] <= now - MINUTE_S]:
                del self._recent[name]
            times = self._recent.setdefault(who, deque())
            while times and times[0] <= now - MINUTE_S:
                times.popleft()
            if len(times) >= most:
                return times[0] + MINUTE_S - now
            times.append(now)
            return 0.0
