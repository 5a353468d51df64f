"""Counts how often each unit has started within the last five minutes.

Automatic restarts are counted by systemd's own counter (NRestarts), so that nothing between two looks is missed.
Other starts are counted only of units that are meant to run all the time: a timer may start its unit every minute.
Must not: ask the host.
"""

from __future__ import annotations

import collections
import time
from typing import Callable, Deque, Dict, NamedTuple, Tuple

from opsapp.wire.readings import WINDOW_S


class UnitRun(NamedTuple):
    restarts: int
    run: str


class Starts:
    def __init__(self, monotonic: Callable[[], float] = time.monotonic):
        self._monotonic = monotonic
        self._began = monotonic()
        self._seen: Dict[str, UnitRun] = {}
        self._recent: Dict[str, Deque[Tuple[float, int]]] = {}  # unit: (when it was seen, starts)

    def note(self, unit: Dict[str, str], lasting: bool) -> None:
        """`lasting`: it is meant to run all the time."""
        name, number = unit["Id"], unit.get("NRestarts", "")
        if not number.isdigit():  # an old systemd does not count
            return
        now, before = UnitRun(int(number), unit.get("InvocationID", "")), self._seen.get(name)
        self._seen[name] = now
        if before is not None:
            starts = _between(before, now, lasting)
            if starts:
                self._recent.setdefault(name, collections.deque()).append((self._monotonic(), starts))

    def keep(self, names: object) -> None:
        for name in [name for name in self._seen if name not in names]:  # type: ignore[operator]
            self._seen.pop(name)
            self._recent.pop(name, None)

    def counts(self) -> Dict[str, int]:
        oldest, counts = self._monotonic() - WINDOW_S, {}
        for name, looks in list(self._recent.items()):
            while looks and looks[0][0] < oldest:
                looks.popleft()
            if looks:
                counts[name] = sum(starts for _, starts in looks)
            else:
                del self._recent[name]
        return counts

    def counted_s(self) -> float:
        """The seconds for which starts were counted, at most the window."""
        return min(WINDOW_S, self._monotonic() - self._began)


def _between(before: UnitRun, now: UnitRun, lasting: bool) -> int:
    """The starts between two looks; the counter goes back to 0 when somebody starts the unit."""
    if now.restarts > before.restarts:
        return now.restarts - before.restarts
    if now.restarts < before.restarts:
        return now.restarts + int(lasting)
    return int(lasting and now.run not in ("", before.run))
