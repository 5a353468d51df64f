"""What one process has of the series: its journal, its live view, the journal's tail, its stock of numbers.

Every node has one as `node.series`; it starts nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from opsapp.series.history import history_root
from opsapp.series.journal import Journal
from opsapp.series.live import Live
from opsapp.series.numbers import Numbers
from opsapp.series.reads import HistoryReader
from opsapp.series.recent import Recent


class Series:
    def __init__(self, node: str, transact: Callable, now: Callable[[], float] = lambda: inf):
        self.journal = Journal(node)
        self.live = Live(now)
        self.recent = Recent(self.journal.key, now)
        self.numbers = Numbers(transact)

    def reading(self, root) -> HistoryReader:
        """Reads of the history as the transaction behind `root` sees it. Stays inside that transaction."""
        return HistoryReader(history_root(root), self.recent)

    def flush(self, root) -> int:
        """Transaction function: the journal's queued batches; settle with the answer once it is committed."""
        return self.journal.flush(history_root(root))

    def catch_up(self, root) -> None:
        """Transaction function: what any node committed since the last time; `tell` hands it to the live view."""
        self.recent.catch_up(history_root(root))

    def prepare(self, root, now: int) -> None:
        """Transaction function: sums over merged hours that were asked for lately, after other hours are merged."""
        self.reading(root).prepare(now)

    def move(self, by: float) -> None:
        """The clock was set by so many seconds."""
        self.live.move(by)
        self.journal.move(by)

    def late(self, settled: int) -> dict[int, int]:
        """Series with rows that came too late for who has read until the `settled` of the time before; see `Recent`."""
        return self.recent.late(settled)

    def tell(self) -> None:
        """On the hub: what others observed, and the latest of series that were bound since, into the live view."""
        self.live.replay(self.recent.news())
        for number in self.live.newly_bound():
            row = self.recent.last(number)
            if row is not None:
                self.live.replay([(number, *row)])
