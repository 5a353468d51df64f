"""A queue in which nobody's tasks wait behind all of somebody else's.

Groups take turns, and so do the callers within a group; a caller's own tasks go in order. A caller with a thousand
tasks delays others by one task each time, and a group of many callers delays another group no more than one caller
would.
"""

from __future__ import annotations

import queue
import threading
from collections import OrderedDict, deque
from typing import Any, NamedTuple


class Whose(NamedTuple):
    group: str
    caller: Any


NOBODY = Whose("", None)


class FairQueue:
    """Like a `SimpleQueue`. None tells a reader to end, after all that was put in before."""

    def __init__(self) -> None:
        self._signs: queue.SimpleQueue[bool | None] = queue.SimpleQueue()  # True for each task
        self._lock = threading.Lock()
        self._groups: OrderedDict[str, OrderedDict[Any, deque[Any]]] = OrderedDict()

    def put(self, task: Any, whose: Whose = NOBODY) -> None:
        if task is None:
            self._signs.put(None)
            return
        with self._lock:
            callers = self._groups.setdefault(whose.group, OrderedDict())
            callers.setdefault(whose.caller, deque()).append(task)
        self._signs.put(True)

    def get(self) -> Any:
        return self._take() if self._signs.get() else None

    def get_nowait(self) -> Any:
        return self._take() if self._signs.get_nowait() else None

    def qsize(self) -> int:
        return self._signs.qsize()

    def _take(self) -> Any:
        """The next task; whoever had it put in comes last from here on."""
        with self._lock:
            group, callers = self._groups.popitem(last=False)
            caller, tasks = callers.popitem(last=False)
            task = tasks.popleft()
            if tasks:
                callers[caller] = tasks
            if callers:
                self._groups[group] = callers
            return task
