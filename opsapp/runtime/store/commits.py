"""How many commits of this process wait for a shared store at once, and for how long.

Another node may stand still with a lock in its hands, and each commit that waits for it has a thread that others want
to read with. So a commit that does not get on in time is refused before it began. An embedded store has no such bound.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from opsapp.lib.problems import StoreAway
from opsapp.runtime.internals import commits_at_once

WAIT_S = 2.0
STUCK_S = 0.5  # a commit that takes longer is stuck, and few wait behind it
FEW = 2
HELD_UP = "Changes wait for another node. Nothing was changed. Try again."


class CommitGate:
    """`at_once` commits pass; 0: all of them."""

    def __init__(self, at_once: int):
        self.at_once = at_once
        self._passed: dict[int, float] = {}  # by thread: since when
        self._waiting = 0
        self._moved = threading.Condition()

    @classmethod
    def of(cls, storages: Iterable[Any]) -> CommitGate:
        bounds = [bound for bound in map(commits_at_once, storages) if bound]
        return cls(min(bounds, default=0))

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Around a commit; StoreAway where it would have to wait too long."""
        thread = threading.get_ident()
        if not self.at_once or thread in self._passed:  # a commit within another one's passes with it
            yield
            return
        self._enter(thread)
        try:
            yield
        finally:
            with self._moved:
                del self._passed[thread]
                self._moved.notify()

    def _enter(self, thread: int) -> None:
        deadline = time.monotonic() + WAIT_S
        with self._moved:
            while len(self._passed) >= self.at_once:
                left = deadline - time.monotonic()
                if left <= 0 or (self._waiting >= FEW and self._is_stuck()):
                    raise StoreAway(HELD_UP)
                self._waiting += 1
                try:
                    self._moved.wait(min(left, STUCK_S))
                finally:
                    self._waiting -= 1
            self._passed[thread] = time.monotonic()

    def _is_stuck(self) -> bool:
        return time.monotonic() - min(self._passed.values()) > STUCK_S
