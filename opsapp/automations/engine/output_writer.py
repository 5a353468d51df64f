"""A run's output on its way into the store: masked, in pieces, a few times a second. On the hub."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import gevent
from gevent.event import Event

from opsapp.automations.logic.runs import readable
from opsapp.lib.masks import Masker

FLUSH_EVERY_S = 0.2
BEHIND = 256 * 1024


class OutputWriter:
    """`store(text)` writes a piece and answers whether more is wanted. Only a bounded part is held: whoever writes
    faster waits (`put`), or is told that it was too much (`offer`)."""

    def __init__(self, store: Callable[[str], bool], secrets: Iterable[str]):
        self._store = store
        self._masker = Masker(secrets)
        self._waiting: list[str] = []
        self._size = 0
        self.wanted = True
        self._flushing: Any = None
        self._storing = False
        self._moved = Event()

    def put(self, text: str) -> None:
        """Called by a greenlet that may wait."""
        if self.wanted:
            self._take_in(text)
        while self._size > BEHIND and self.wanted:
            self._moved.clear()
            self._moved.wait()

    def offer(self, text: str) -> bool:
        """Called by a greenlet that may not wait. Whether the text was taken."""
        if not self.wanted or self._size > BEHIND:
            return False
        self._take_in(text)
        return True

    def _take_in(self, text: str) -> None:
        shown = readable(self._masker.put(text))
        self._waiting.append(shown)
        self._size += len(shown)
        if self._flushing is None:
            self._flushing = gevent.spawn(self._flush)

    def _flush(self) -> None:
        while self.wanted:
            gevent.sleep(FLUSH_EVERY_S)
            text = self._take()
            if not text:
                break
            self._storing = True
            try:
                self.wanted = self._store(text)
            finally:
                self._storing = False
                self._moved.set()
        self._flushing = None
        self._moved.set()

    def _take(self) -> str:
        text = "".join(self._waiting)
        self._waiting, self._size = [], 0
        self._moved.set()
        return text

    def rest(self) -> str:
        """The text that the last transaction takes along. Nothing is written after this."""
        while self._storing:
            self._moved.clear()
            self._moved.wait()
        if self._flushing is not None:
            self._flushing.kill()
        self.wanted = False
        return self._take() + readable(self._masker.end())
