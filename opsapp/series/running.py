"""Running sums of series that were asked for, kept up with what is committed, in memory.

A sum is made from a reading once, and takes each row as it comes. It goes where rows came too late, or may be missing.
Must not: read the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from opsapp.series.lines import MeanLine, Strip
from opsapp.series.observations import Row
from opsapp.series.tails import SeriesTail


class RunningSum(Protocol):
    """A sum over the rows of a series, which are added in the order of their times."""

    def add(self, row: Row) -> bool: ...

    @property
    def is_empty(self) -> bool: ...


F = TypeVar("F", bound=RunningSum)
S = TypeVar("S")


class SeenChanges(NamedTuple):
    """What a reading stands on. A sum that was made of less would stay wrong."""

    changes: int
    is_newest: bool


class KeptSums(Generic[F]):
    """Keeps the running sums of one kind, by series."""

    def __init__(self, running: Running):
        self._running = running
        self.by_series: dict[int, F] = {}

    def keep(self, number: int, made: F, seen: SeenChanges) -> None:
        """Unless rows came while it was made."""
        with self._running.lock:
            if seen.is_newest and seen.changes == self._running.changes:
                self.by_series[number] = made

    def read(self, number: int, fn: Callable[[F], S | None]) -> S | None:
        """None: there is none, or it cannot tell."""
        with self._running.lock:
            made = self.by_series.get(number)
            return None if made is None else fn(made)

    def take(self, number: int, row: Row) -> None:
        made = self.by_series.get(number)
        if made is not None and not made.add(row):
            del self.by_series[number]

    def sweep(self) -> None:
        """The owner of an empty one may be gone."""
        for number in [number for number, made in self.by_series.items() if made.is_empty]:
            del self.by_series[number]


class Running:
    """`lock` is held for one series or batch at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changes = 0
        self.tails: KeptSums[SeriesTail] = KeptSums(self)
        self.strips: KeptSums[Strip] = KeptSums(self)
        self.lines: KeptSums[MeanLine] = KeptSums(self)
        self._merged: tuple[int, object] = (0, None)
        self._spans: tuple[dict[int, bytes], int] = ({}, 0)

    def take(self, observations: Iterable[tuple], horizon: int) -> None:
        """What is before `horizon` shows in means once its hour was merged again."""
        kinds: tuple[KeptSums, ...] = (self.tails, self.strips, self.lines)
        with self.lock:
            self.changes += 1
            for number, time, *told in observations:
                if time < horizon:
                    self.lines.by_series.pop(number, None)
                for kept in kinds:
                    if number in kept.by_series:
                        kept.take(number, Row(time, *told))

    def forget(self) -> None:
        """Rows may have been missed."""
        with self.lock:
            self.changes += 1
            for kept in (self.tails, self.strips, self.lines):
                kept.by_series.clear()

    def merged_to(self, horizon: int, version: object, carry: Callable[[], dict[int, Row]]) -> bool:
        """Tails begin at `horizon`; `carry`: states that last from before, under `version`. False: more was merged than
        the asker knows."""
        with self.lock:
            if horizon < self._merged[0]:
                return False
            if (horizon, version) != self._merged:
                lasting, tails = carry(), self.tails.by_series
                for number in [n for n, tail in tails.items() if not tail.move(horizon, lasting.get(n))]:
                    del tails[number]
                for kept in (self.tails, self.strips, self.lines):
                    kept.sweep()
                self._merged = (horizon, version)
            return True

    def spans_are(self, spans: dict[int, bytes], horizon: int) -> None:
        """Where a span was made anew, or is new and before what was merged, no mean holds."""
        with self.lock:
            known, merged_to = self._spans
            if any(known[start] != now if start in known else start < merged_to for start, now in spans.items()):
                self.lines.by_series.clear()
            self._spans = (spans, horizon)
