"""What one process has of the series: journal, live view, the journal's tail, numbers. A node has one as
`node.series`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf

from opsapp.series.history import history_root, open_history
from opsapp.series.journal import Journal
from opsapp.series.live import Live
from opsapp.series.reads import HistoryReader
from opsapp.series.recent import Recent


def reserve(root, count: int) -> int:
    """Transaction function: the first of `count` numbers."""
    history = open_history(history_root(root), create=True)
    first = history.next_number
    history.next_number = first + count
    return first


class Numbers:
    """Hands out series numbers from blocks, so that nobody meets a hot counter. A number that is not used is lost."""

    def __init__(self, transact: Callable, block: int = 64):
        self._transact = transact
        self._block = block
        self._stock: list[int] = []
        self._lock = threading.Lock()

    def take(self, count: int = 1) -> list[int]:
        """Takes `count` numbers; call it in a native thread, because it may need a transaction."""
        with self._lock:
            if len(self._stock) < count:
                size = max(self._block, count)
                first = self._transact(reserve, size)
                self._stock += range(first, first + size)
            taken, self._stock = self._stock[:count], self._stock[count:]
        return taken


class Series:
    def __init__(self, node: str, transact: Callable, now: Callable[[], float] = lambda: inf):
        self.journal = Journal(node)
        self.live = Live(now)
        self.recent = Recent(self.journal.key, now)
        self.numbers = Numbers(transact)

    def reading(self, root) -> HistoryReader:
        """Stays inside the transaction behind `root`."""
        return HistoryReader(history_root(root), self.recent)

    def flush(self, root) -> int:
        """Transaction function; settle with the answer once it is committed."""
        return self.journal.flush(history_root(root))

    def catch_up(self, root) -> None:
        """Transaction function: what any node committed; `tell` hands it on."""
        self.recent.catch_up(history_root(root))

    def prepare(self, root, now: int) -> None:
        """Transaction function, after hours are merged: sums that were asked for lately."""
        self.reading(root).prepare(now)

    def move(self, by: float) -> None:
        self.live.move(by)
        self.journal.move(by)

    def late(self, settled: int) -> dict[int, int]:
        """See `Recent`."""
        return self.recent.late(settled)

    def tell(self) -> None:
        """Brings what is new into the live view; runs on the hub."""
        self.live.replay(self.recent.news())
        for number in self.live.newly_bound():
            row = self.recent.last(number)
            if row is not None:
                self.live.replay([(number, *row)])
