"""When each check is due: one heap for all of them.

A check falls on the same moments of the wall clock after a restart and on any node: its offset within the interval is
computed from its key, and random keys spread evenly. The clocks are passed in.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Callable


def phase(key: str) -> float:
    """Where within its interval a key falls: [0, 1)."""
    return int.from_bytes(hashlib.blake2s(key.encode(), digest_size=6).digest(), "big") / 2**48


def next_moment(key: str, interval: float, now: float) -> float:
    offset = phase(key) * interval
    moment = math.floor((now - offset) / interval + 1) * interval + offset
    return moment if moment > now else moment + interval


def passed_within(key: str, interval: float, now: float, seconds: float) -> bool:
    """Whether a moment in the key's phase passed within these seconds."""
    return next_moment(key, interval, now) - interval > now - seconds


class Timetable:
    """Due times are monotonic: a wall clock that is set delays no check."""

    def __init__(self, sooner: Callable[[], object] | None = None) -> None:
        """`sooner` is called whenever the next moment has become an earlier one."""
        self._sooner = sooner
        self._heap: list[tuple[float, str]] = []
        self._due: dict[str, float] = {}
        self._regular: dict[str, float] = {}
        self._interval: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._interval)

    def __contains__(self, key: str) -> bool:
        return key in self._interval

    def put(self, key: str, interval: float, now: float, monotonic: float, *, soon: bool = False) -> None:
        """Schedule a check or change its interval; `soon`: the first one at once, the others in phase."""
        if self._interval.get(key) != interval:
            self._interval[key] = interval
            self._regular[key] = monotonic + next_moment(key, interval, now) - now
            self._set(key, self._regular[key])
        if soon:
            self._set(key, monotonic)

    def hurry(self, key: str, at: float) -> None:
        """Check at `at` if that is before the next regular check, which stays where it is."""
        if key in self._interval and at < self._regular[key]:
            self._set(key, at)

    def move(self, key: str, at: float) -> None:
        """The next regular check at `at`, and from there on every interval."""
        if key in self._interval:
            self._regular[key] = at
            self._set(key, at)

    def drop(self, key: str) -> None:
        for table in (self._due, self._regular, self._interval):
            table.pop(key, None)

    def due(self, monotonic: float) -> list[tuple[str, float]]:
        """Every key that is due and since when. Each goes to its next moment; missed moments are skipped."""
        due = []
        while self._heap and self._heap[0][0] <= monotonic:
            at, key = heapq.heappop(self._heap)
            if self._due.get(key) != at:
                continue
            due.append((key, at))
            if self._regular[key] <= monotonic:
                interval = self._interval[key]
                self._regular[key] += (math.floor((monotonic - self._regular[key]) / interval) + 1) * interval
            self._set(key, self._regular[key])
        return due

    def next_at(self) -> float | None:
        while self._heap and self._due.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def _set(self, key: str, at: float) -> None:
        if self._due.get(key) != at:
            self._due[key] = at
            heapq.heappush(self._heap, (at, key))
            if self._sooner is not None and self._heap[0][0] == at:
                self._sooner()
