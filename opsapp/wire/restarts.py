"""How often a unit has started lately, and whether it is in a crash loop: the readings that conditions have of it.

Lives here: the window, the limit, and both readings. Server and agent read them with this one module.
Must not: count starts; the agent does (opsapp/agent/starts.py).
"""

from __future__ import annotations

from typing import Optional

WINDOW_S = 300.0
LOOP_STARTS = 5  # so many starts within the window are a crash loop
STOPPED = ("failed", "inactive", "masked")  # the service manager starts it no more


def restarts(starts: Optional[int], counted_s: Optional[float]) -> Optional[int]:
    """Starts within the last five minutes, from what an agent reports. It names units that have started, and says for
    how long it has counted: before that is a whole window, a small count says nothing."""
    if counted_s is None:
        return None
    known = starts or 0
    return known if counted_s >= WINDOW_S or known >= LOOP_STARTS else None


def crash_looping(state: str, count: Optional[int]) -> Optional[int]:
    """1 while a unit is started again and again. One that the service manager has given up is failed, not looping."""
    return None if count is None else int(count >= LOOP_STARTS and state not in STOPPED)
