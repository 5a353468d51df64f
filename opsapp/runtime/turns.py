"""Turns for transactions that lose again and again.

Whoever commits first makes all others begin again that change the same object, so of many at once one may never get
through. Who has lost a few times begins its next attempts in turn with the others who have, and for as long nobody else
of this process commits. What a conflict is, and who tries again, is not known here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

AFTER = 3  # attempts
WAIT_S = 2.0  # then one goes on without: a turn is a help, not a lock, and its holder may be slow


class Turns:
    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._counting = threading.Lock()
        self._losers = 0

    @contextmanager
    def attempt(self, number: int) -> Iterator[None]:
        """Around an attempt from its beginning to its end, the first being 0."""
        if number < AFTER:
            yield
            return
        self._count(1)
        try:
            with self._turn_if_free_in_time():
                yield
        finally:
            self._count(-1)

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Around every commit: it waits while somebody has the turn."""
        if not self._losers:
            yield
            return
        with self._turn_if_free_in_time():
            yield

    @contextmanager
    def _turn_if_free_in_time(self) -> Iterator[None]:
        mine = self._turn.acquire(timeout=WAIT_S)
        try:
            yield
        finally:
            if mine:
                self._turn.release()

    def _count(self, more: int) -> None:
        with self._counting:
            self._losers += more
