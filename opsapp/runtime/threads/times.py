"""What threads of this process got of a processor, how long they stood in line for one, and whether one is held up.

Must not: know what the threads work on, or what is done about it (`hub` does). Linux tells all of it.
"""

from __future__ import annotations

import os
import threading
import time
from typing import NamedTuple

_SIZE = 512  # more than either file holds
TASKS = "/proc/self/task"


class Times(NamedTuple):
    """Seconds since the thread began; `ready`: it runs, or would if a processor were free."""

    used: float
    queued: float
    ready: bool


class ThreadTimes:
    """Times of one thread, which any other thread can read. Where the system does not tell, nothing was ever queued."""

    def __init__(self, thread: threading.Thread):
        self._clock = time.pthread_getcpuclockid(thread.ident or 0)
        task = f"{TASKS}/{thread.native_id}"
        self._files = [fd for fd in (_opened(f"{task}/schedstat"), _opened(f"{task}/stat")) if fd is not None]

    def now(self) -> Times:
        used = time.clock_gettime(self._clock)
        if len(self._files) < 2:
            return Times(used, 0.0, False)
        schedule, stat = (os.pread(fd, _SIZE, 0) for fd in self._files)
        state = stat[stat.rindex(b")") + 2 :]
        return Times(used, int(schedule.split()[1]) / 1e9, state.startswith(b"R"))

    def close(self) -> None:
        while self._files:
            os.close(self._files.pop())


def _opened(path: str) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


HELD_UP = 0.25  # the share of the time that it could have had, below which a worker does not get on


class Progress:
    """Whether a worker gets on between two looks. The looking thread shares the interpreter with it: what the one takes
    of the time, the other cannot have."""

    def __init__(self, worker: threading.Thread, looking: threading.Thread):
        self._worker, self._looking = ThreadTimes(worker), ThreadTimes(looking)
        self.begin()

    def begin(self) -> None:
        self._seen = (time.monotonic(), self._worker.now(), self._looking.now())

    @property
    def used(self) -> float:
        """The thread's time when it was looked at last; the same clock as the worker's `time.thread_time()`."""
        return self._seen[1].used

    def is_held_up(self) -> bool:
        """Since the last look. Called by the looking thread."""
        (at, worker, looking) = self._seen
        self.begin()
        now, worker_now, looking_now = self._seen
        return is_held_up(now - at, since(worker, worker_now), since(looking, looking_now))

    def close(self) -> None:
        self._worker.close()
        self._looking.close()


def since(before: Times, now: Times) -> Times:
    return Times(now.used - before.used, now.queued - before.queued, now.ready)


def is_held_up(took: float, worker: Times, looking: Times) -> bool:
    """Whether it waits for something that is neither a processor nor the interpreter: a disk, a server far away."""
    free = took - looking.used - looking.queued
    return not worker.ready and worker.used + worker.queued < HELD_UP * free
