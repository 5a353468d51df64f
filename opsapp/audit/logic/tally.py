"""Which refusals become entries, and which are only counted: of one kind (address, action, reason) and of all together
so many a minute do; the rest is told by one entry a minute and kind. Beyond the second limit addresses are not told
apart, so that no number of them fills memory."""

from __future__ import annotations

import threading
from typing import NamedTuple

WINDOW_S = 60.0


class RefusalKind(NamedTuple):
    ip: str | None
    action: str
    reason: str


class RefusalLimits(NamedTuple):
    of_a_kind: int
    all: int


class CountedRefusals(NamedTuple):
    """`username`: when all were of one."""

    kind: RefusalKind
    username: str | None
    times: int
    since: float


class _Kept:
    __slots__ = ("count", "names", "since", "written")

    def __init__(self) -> None:
        self.written = self.count = 0
        self.since = 0.0
        self.names: set[str | None] = set()


class Tally:
    """One a node, in memory; any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = 0.0
        self._written = 0
        self._kinds: dict[RefusalKind, _Kept] = {}

    def admits(self, kind: RefusalKind, username: str | None, now: float, limits: RefusalLimits) -> bool:
        with self._lock:
            if self._is_over(now):
                self._began, self._written = now, 0
                for kept in self._kinds.values():
                    kept.written = 0
            full = self._written >= limits.all
            if full and kind not in self._kinds:
                kind = kind._replace(ip=None)
            kept = self._kinds.setdefault(kind, _Kept())
            if not full and kept.written < limits.of_a_kind:
                kept.written += 1
                self._written += 1
                return True
            kept.since = kept.since or now
            kept.count += 1
            if len(kept.names) < 2:
                kept.names.add(username)
            return False

    def due(self, now: float, *, all: bool = False) -> list[CountedRefusals]:
        with self._lock:
            if not (all or self._is_over(now)):
                return []
            kinds, self._kinds = self._kinds, {}
            self._began, self._written = now, 0
        return [
            CountedRefusals(kind, kept.names.copy().pop() if len(kept.names) == 1 else None, kept.count, kept.since)
            for kind, kept in kinds.items()
            if kept.count
        ]

    def _is_over(self, now: float) -> bool:
        return not self._began <= now < self._began + WINDOW_S
