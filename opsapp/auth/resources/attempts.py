"""Counters of login attempts, shared by all nodes. They resolve no conflicts on purpose: of two nodes at once the
second counts again on top of the first, so that no attempt goes through uncounted."""

from __future__ import annotations

from typing import Any

from persistent import Persistent

from opsapp.auth.logic.attempts import AttemptLimit, Counted, attempt, is_over, remaining
from opsapp.tree.root import Root

from .places import attempts_of

PAGE = 500


class Attempts(Persistent):
    """What is known of one address or name."""

    def __init__(self, limit: AttemptLimit) -> None:
        self.counted = Counted()
        self.limit = limit


def count(root: Root, wanted: list[tuple[str, AttemptLimit]], now: float) -> int:
    """Count on each counter until one is locked; the seconds of that lock (0: none is)."""
    for name, limit in wanted:
        record = _record(root, name, limit)
        counted = attempt(record.counted, limit, now)
        if counted != record.counted:
            record.counted, record.limit = counted, limit
        if remaining(counted, now):
            return remaining(counted, now)
    return 0


def seconds_locked(root: Root, wanted: list[tuple[str, AttemptLimit]], now: float) -> int:
    records = [attempts_of(root).get(name) for name, _ in wanted]
    return max((remaining(record.counted, now) for record in records if record is not None), default=0)


def forget_attempts(root: Root, names: list[str], now: float) -> bool:
    records = [(name, attempts_of(root).get(name)) for name in names]
    was_locked = False
    for name, record in records:
        if record is not None:
            was_locked = was_locked or bool(remaining(record.counted, now))
            _drop(root, name, record)
    return was_locked


def _drop(root: Root, name: str, record: Attempts) -> None:
    record.counted = Counted()  # written, so that an attempt at this moment meets a conflict
    del attempts_of(root)[name]


def _record(root: Root, name: str, limit: AttemptLimit) -> Any:
    record = attempts_of(root).get(name)
    if record is None:
        record = attempts_of(root)[name] = Attempts(limit)
    return record


def purge_attempts(root: Root, now: float, after: str = "") -> str | None:
    """A page at a time; where to go on, or None at the end."""
    page = list(attempts_of(root).items(after, excludemin=True))[:PAGE]
    for name, record in page:
        if is_over(record.counted, record.limit, now):
            _drop(root, name, record)
    return page[-1][0] if len(page) == PAGE else None
