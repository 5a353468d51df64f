"""Numbers for the threads of this process, the lowest that are free. Knows nothing of what they are for."""

from __future__ import annotations

import threading
from itertools import count
from weakref import WeakValueDictionary


class HeldNumber:
    """What a thread holds. It goes with the thread, and its number is free again."""

    __slots__ = ("__weakref__", "number")

    def __init__(self, number: int):
        self.number = number


class ThreadNumbers:
    """Each thread that asks has one number while it lives. The interpreter is never asked which threads there are: in
    `sys._current_frames` of Python 3.11 the collector may free a thread's value while a lock is held that this takes
    too, and then the whole process stands still for ever."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: WeakValueDictionary[int, HeldNumber] = WeakValueDictionary()
        self._lock = threading.Lock()

    def mine(self) -> int:
        held: HeldNumber | None = getattr(self._own, "held", None)
        if held is None:
            with self._lock:
                held = HeldNumber(next(number for number in count() if number not in self._all))
                self._all[held.number] = held
            self._own.held = held
        return held.number
