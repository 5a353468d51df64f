"""Running sums of the series that somebody asked for, kept up with what is committed. In this process's memory.

A sum is made from a reading once, and then takes each row as it comes. It is let go of where rows came too late for it,
or some may have been missed; the next reading makes it anew. Must not: read the store.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from opsapp.series.lines import MeanLine, Strip
from opsapp.series.observations import Row
from opsapp.series.tails import SeriesTail


class RunningSum(Protocol):
    """A sum that takes rows in the order of their times."""

    def add(self, row: Row) -> bool: ...

    @property
    def is_empty(self) -> bool: ...


F = TypeVar("F", bound=RunningSum)
S = TypeVar("S")


class SeenChanges(NamedTuple):
    """What a reading stands on: how much had been taken when it began, and whether all that is folded was known to it.
    A sum that was made of less would stay wrong."""

    changes: int
    is_newest: bool


class KeptSums(Generic[F]):
    """Sums of one kind, by series."""

    def __init__(self, running: Running):
        self._running = running
        self.by_series: dict[int, F] = {}

    def keep(self, number: int, made: F, seen: SeenChanges) -> None:
        """From now on it follows, unless rows came while it was made."""
        with self._running.lock:
            if seen.is_newest and seen.changes == self._running.changes:
                self.by_series[number] = made

    def read(self, number: int, fn: Callable[[F], S | None]) -> S | None:
        """What the sum says; None where there is none, or it cannot tell."""
        with self._running.lock:
            made = self.by_series.get(number)
            return None if made is None else fn(made)

    def take(self, number: int, row: Row) -> None:
        made = self.by_series.get(number)
        if made is not None and not made.add(row):
            del self.by_series[number]

    def sweep(self) -> None:
        """What has nothing is not kept: its owner may be gone."""
        for number in [number for number, made in self.by_series.items() if made.is_empty]:
            del self.by_series[number]


class Running:
    """All of them. `lock` is held for one series or one batch at a time."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.changes = 0
        self.tails: KeptSums[SeriesTail] = KeptSums(self)
        self.strips: KeptSums[Strip] = KeptSums(self)
        self.lines: KeptSums[MeanLine] = KeptSums(self)
        self._merged: tuple[int, object] = (0, None)
        self._spans: tuple[dict[int, bytes], int] = ({}, 0)

    def take(self, observations: Iterable[tuple], horizon: int) -> None:
        """A batch that was committed. What is before `horizon` shows in means once its hour was merged again."""
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
        """Tails begin at `horizon` from now on; `carry` are the states that last from before it, and `version` changes
        with them. False where more was merged than whoever asks knows."""
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
        """The versions of the merged hours and days that lines go over: where one was made anew, or is new and before
        what was merged the last time, no mean holds."""
        with self.lock:
            known, merged_to = self._spans
            if any(known[start] != now if start in known else start < merged_to for start, now in spans.items()):
                self.lines.by_series.clear()
            self._spans = (spans, horizon)
