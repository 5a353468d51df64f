"""The latest value of everything this node knows, in memory.

A subject is a word like `agent:ID`; its values are named, with the time of observation. Names that are kept as series
are bound to their number, and come back from the journal at start.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from math import inf
from typing import Any
from weakref import WeakValueDictionary

from opsapp.series.observations import MARK, NAMES

log = logging.getLogger(__name__)
Value = int | float | str
Implied = Callable[[float], dict[str, Value]]


class Places(dict[str, int]):
    """Where each name stands in its row. Subjects with the same names share one."""

    __slots__ = ("__weakref__",)


class Live:
    """A subject's row: places, then value and time of each name. A dictionary of pairs for each would take three times
    the memory."""

    def __init__(self, now: Callable[[], float] = lambda: inf):
        self._now = now
        self._rows: dict[str, list[Any]] = {}
        self._places: WeakValueDictionary[tuple[str, ...], Places] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._listeners: list[Callable[[str, dict[str, Value]], Any]] = []
        self._bound: dict[int, tuple[str, str, Implied | None]] = {}
        self._new: set[int] = set()

    def update(self, subject: str, values: dict[str, Value], at: float) -> None:
        """An older observation never replaces a newer one. One from a time to come is of a clock that was ahead:
        anything is newer."""
        changed = {}
        with self._lock:
            row = self._rows.get(subject)
            if row is None or not values.keys() <= row[0].keys():
                row = self._wider(subject, values)
            places = row[0]
            for name, value in values.items():
                n = places[name]
                since = row[n + 1]
                # Heard twice (here and from the journal) it is no news the second time.
                if since < at or (since == at and row[n] != value) or since > self._now():
                    row[n : n + 2] = value, at  # both at once, for who reads meanwhile
                    changed[name] = value
            self._rows[subject] = row
        for listener in tuple(self._listeners) if changed else ():
            self._tell(listener, subject, changed)

    def _wider(self, subject: str, values: dict[str, Value]) -> list[Any]:
        """A row with places for these too, which nobody sees yet."""
        row = self._rows.get(subject, [()])
        new = [name for name in values if name not in row[0]]
        return self._made((*row[0], *new), (*row[1:], *(None, -inf) * len(new)))

    def _made(self, names: tuple[str, ...], pairs: tuple[Any, ...]) -> list[Any]:
        places = self._places.get(names)
        if places is None:
            places = self._places[names] = Places(zip(names, range(1, 2 * len(names), 2), strict=True))
        return list((places, *pairs))  # of a tuple: as long as it is, a list that grew is longer

    def names(self, subject: str) -> int:
        return len(self._rows.get(subject, ((),))[0])

    def forget(self, subject: str, before: float) -> None:
        """Units, containers and mounts come and go for ever."""
        with self._lock:
            kept = {name: seen for name, seen in self.get(subject).items() if seen[1] >= before}
            self._rows[subject] = self._made(tuple(kept), tuple(value for seen in kept.values() for value in seen))

    def get(self, subject: str) -> dict[str, tuple[Value, float]]:
        """{name: (value, observed at)}"""
        row = self._rows.get(subject, [()])[:]  # as it is now, whoever writes meanwhile
        return dict(zip(row[0], zip(row[1::2], row[2::2], strict=True), strict=True))

    def value(self, subject: str, name: str) -> Value | None:
        row = self._rows.get(subject)
        return row[row[0][name]] if row and name in row[0] else None

    def observed_at(self, subject: str, *names: str) -> float | None:
        """The newest of these."""
        row = self._rows.get(subject)
        if not row:
            return None
        newest: float | None = None
        for name in names:
            place = row[0].get(name)
            if place is not None and (newest is None or row[place + 1] > newest):
                newest = row[place + 1]
        return newest

    def newest(self, subjects: Iterable[str], *names: str) -> list[float]:
        """The same for many; -inf for none."""
        rows, times, unknown = self._rows, [], [Places()]
        for subject in subjects:
            row = rows.get(subject, unknown)
            newest = -inf
            for name in names:
                place = row[0].get(name)
                if place is not None and row[place + 1] > newest:
                    newest = row[place + 1]
            times.append(newest)
        return times

    def move(self, by: float) -> None:
        """What was observed is as old as before."""
        with self._lock:
            for subject, row in tuple(self._rows.items()):
                moved = row[:]
                moved[2::2] = [at + by for at in row[2::2]]
                self._rows[subject] = moved

    def subjects(self, kind: str = "") -> list[str]:
        """Whose word begins with `kind`."""
        return [subject for subject in tuple(self._rows) if subject.startswith(kind)]

    def subscribe(self, listener: Callable[[str, dict[str, Value]], Any]) -> Callable[[], None]:
        """`listener(subject, {name: value})` on the updating thread, until the answer is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def drop(self, subject: str) -> None:
        self._rows.pop(subject, None)
        for number in [number for number, bound in tuple(self._bound.items()) if bound[0] == subject]:
            del self._bound[number]

    def bind(self, number: int, subject: str, name: str, implied: Implied | None = None) -> None:
        """What the journal has with a value tells `implied(at)` too."""
        if self._bound.get(number) != (subject, name, implied):
            self._bound[number] = (subject, name, implied)
            self._new.add(number)

    def newly_bound(self) -> set[int]:
        """Since this was asked last: what the journal has of them is not known here."""
        new, self._new = self._new, set()
        return new

    def replay(self, observations: Iterable[tuple]) -> None:
        """Shows observations from the journal in the live view. One with a state is a check, and shows as `status` and
        `last_check`. A time to come counts as now: that clock was ahead."""
        latest = self._now() * 1000
        for number, said, value, status, _ in observations:
            time = int(latest) if said > latest else said
            if number not in self._bound:
                continue
            subject, name, implied = self._bound[number]
            values: dict[str, Value] = {} if value is None else {name: value}
            if implied is not None and value is not None:
                values |= implied(time / 1000)
            if status and not status & MARK:
                values |= {"status": NAMES[status], "last_check": time // 1000}
            if values:
                self.update(subject, values, time / 1000)

    def _tell(self, listener, subject: str, changed: dict) -> None:
        try:
            listener(subject, changed)
        except Exception:
            log.exception("listener %r failed on %s", listener, subject)
