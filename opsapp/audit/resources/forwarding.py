"""How far each writer's log has been taken by the receiver, and what waits. The entries themselves are the queue:
nothing is copied."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from persistent import Persistent

from opsapp.audit.logic import KeptEntry
from opsapp.audit.logic.syslog import line
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root

from .log import Log

LOGS, LOG, PLACE = "audit", "audit log", "audit_forwarded"
MOST_BYTES = 1 << 20  # in one batch, unless a single entry has more


class Forwarded(Persistent):
    """`taken`: writer -> the number of the newest entry of its log that the receiver has."""

    def __init__(self, taken: dict[str, int]):
        self.taken = taken


class AuditBatch(NamedTuple):
    """What is sent next, and how far each log is taken once that has arrived."""

    entries: list[KeptEntry]
    taken: dict[str, int]


class Backlog(NamedTuple):
    """`since`: when the oldest entry that waits was written."""

    entries: int = 0
    since: float | None = None


class _Row(NamedTuple):
    time: float
    writer: str
    number: int
    entry: KeptEntry


def next_batch(root: Root, most: int, whole: bool) -> AuditBatch:
    """The oldest that wait, in each log's order, between logs by time. The first time, what is in the record already
    waits only if it is sent as a `whole`."""
    if PLACE not in root.system:
        root.system[PLACE] = Forwarded({} if whole else {writer: log.number for writer, log in _logs(root)})
    batch, size = AuditBatch([], {}), 0
    for row in heapq.merge(*(_rows(*behind) for behind in _behind(root)), key=lambda row: row.time):
        size += len(line(row.entry))
        if batch.entries and (size > MOST_BYTES or len(batch.entries) == most):
            break
        batch.entries.append(row.entry)
        batch.taken[row.writer] = row.number
    return batch


def arrived(root: Root, taken: dict[str, int]) -> None:
    place = root.system[PLACE]
    place.taken = {**place.taken, **taken}


def backlog(root: Root) -> Backlog:
    """What waits for a receiver. There is none where no receiver was ever configured."""
    waiting = list(_behind(root)) if PLACE in root.system else []
    oldest = [entry["time"] for _, log, taken in waiting for _, entry in islice(log.after(taken), 1)]
    entries = sum(log.number - max(taken, log.retired) for _, log, taken in waiting)
    return Backlog(entries, min(oldest)) if oldest else Backlog()


def anything(root: Root) -> bool:
    return PLACE not in root.system or any(_behind(root))


def begin_anew(root: Root, writer: str) -> None:
    """Another log has taken the place of this writer's, and counts from 1."""
    if PLACE in root.system:
        arrived(root, {writer: 0})


def _logs(root: Root) -> Iterator[tuple[str, Log]]:
    logs = root.system[LOGS]
    return ChildrenOf(logs, LOG).some_items(logs.keys())


def _behind(root: Root) -> Iterator[tuple[str, Log, int]]:
    taken = root.system[PLACE].taken
    for writer, log in _logs(root):
        if log.number > taken.get(writer, 0):
            yield writer, log, taken.get(writer, 0)


def _rows(writer: str, log: Log, taken: int) -> Iterator[_Row]:
    return (_Row(entry["time"], writer, number, entry) for number, entry in log.after(taken))
