"""Which file descriptors are ready, whatever their numbers: `select.select` takes none above 1023.

Must not: read or write what is ready.
"""

from __future__ import annotations

import math
import select
from typing import Iterable, NamedTuple, Optional, Set


class Ready(NamedTuple):
    """Handles that are ready; those at their end, or with an error, are among both."""

    reads: Set[int]
    writes: Set[int]


def ready(reads: Iterable[int], writes: Iterable[int], seconds: Optional[float]) -> Ready:
    """Return as soon as anything is ready, or after the time; without a time, when something is."""
    reads, writes = set(reads), set(writes)
    watched = select.poll()
    for handle in reads | writes:
        watched.register(handle, select.POLLIN * (handle in reads) | select.POLLOUT * (handle in writes))
    events = watched.poll(None if seconds is None else math.ceil(1000 * max(0.0, seconds)))
    return Ready(
        {handle for handle, event in events if handle in reads and event != select.POLLOUT},
        {handle for handle, event in events if handle in writes and event != select.POLLIN},
    )


def readable(handles: Iterable[int], seconds: Optional[float] = None) -> Set[int]:
    return ready(handles, (), seconds).reads
