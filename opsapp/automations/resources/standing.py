"""How automations stand: what their runs change, of many automations in one stored object.

A tick begins its runs in the order of the automations' ids, so those that share a bucket are written once. Transactions
about different automations in one bucket merge, for which its values must compare: no None beside a text. Must not:
what people wrote of an automation.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.tree.counted import newest

RECENT = 8
RUN_ID = 20  # its length
LAST = "~"  # behind every id


class StandingRow(NamedTuple):
    """`current`: the run under way. `full`: people were told that the schedule is faster than its runs. `recent`: ids
    of the newest runs that began at once, the oldest first; the others are in `Standings.past`."""

    current: str = ""
    last_run: float = -1.0
    last_status: str = ""
    full: bool = False
    recent: tuple[str, ...] = ()


UNTOUCHED = StandingRow()


class PastRuns(NamedTuple):
    """The runs of a deleted automation, which are all over."""

    row: StandingRow
    past: tuple[str, ...]


class Standings(Persistent):
    """`rows`: automation id -> Row. A key of `past` and `waiting` is an automation's id and then a run's; `starting`:
    ids of runs that the engine is to begin at once."""

    def __init__(self) -> None:
        self.rows = OOBTree()
        self.past = OOTreeSet()
        self.waiting = OOTreeSet()
        self.starting = OOTreeSet()

    def asked(self) -> Iterator[tuple[str, str]]:
        """(automation id, run id) of all runs."""
        yield from ((key[:-RUN_ID], key[-RUN_ID:]) for key in self.past)
        for automation_id, row in self.rows.items():
            yield from ((automation_id, run_id) for run_id in StandingRow._make(row).recent)

    def drop(self, automation_id: str) -> None:
        self.rows.pop(automation_id, None)
        for index in (self.past, self.waiting):
            for key in list(index.keys(automation_id, automation_id + LAST)):
                index.remove(key)

    def taken(self, automation_id: str) -> PastRuns:
        """What `put` needs after a `drop`."""
        row = StandingRow._make(self.rows.get(automation_id, UNTOUCHED))
        over = row._replace(current="", last_status="cancelled") if row.current else row
        return PastRuns(over, tuple(self.past.keys(automation_id, automation_id + LAST)))

    def put(self, automation_id: str, runs: PastRuns) -> None:
        self.rows[automation_id] = tuple(runs.row)
        self.past.update(runs.past)


class AutomationStanding:
    """One automation's, for as long as a transaction lasts."""

    def __init__(self, kept: Standings, automation_id: str):
        self.kept, self.id = kept, automation_id

    @property
    def row(self) -> StandingRow:
        return StandingRow._make(self.kept.rows.get(self.id, UNTOUCHED))

    def change(self, **values: Any) -> None:
        self.kept.rows[self.id] = tuple(self.row._replace(**values))

    def begin(self, run_id: str, now: float, *, known: bool) -> None:
        """A run is under way; `known`: it is in the history already."""
        recent = self.row.recent if known else (*self.row.recent, run_id)
        if len(recent) > RECENT:
            self.kept.past.update(self.id + older for older in recent[:-1])
            recent = recent[-1:]
        self.change(current=run_id, last_run=now, last_status="running", recent=recent)

    @property
    def current(self) -> str | None:
        return self.row.current or None

    @property
    def last_run(self) -> float | None:
        at = self.row.last_run
        return at if at >= 0 else None

    @property
    def last_status(self) -> str | None:
        return self.row.last_status or None

    @property
    def waiting(self) -> Waiting:
        return Waiting(self.kept, self.id)

    @property
    def history(self) -> RunHistory:
        return RunHistory(self)


class Waiting:
    """Ids of an automation's runs in the queue, the oldest first."""

    def __init__(self, kept: Standings, automation_id: str):
        self._index, self._id = kept.waiting, automation_id

    def _keys(self) -> Any:
        return self._index.keys(self._id, self._id + LAST)

    def __len__(self) -> int:
        return len(self._keys())

    def __iter__(self) -> Iterator[str]:
        return (key[len(self._id) :] for key in self._keys())

    def add(self, run_id: str) -> None:
        self._index.insert(self._id + run_id)

    def discard(self, run_id: str) -> None:
        if self._id + run_id in self._index:
            self._index.remove(self._id + run_id)

    @property
    def first(self) -> str | None:
        return next(iter(self), None)


class RunHistory:
    """Ids, the oldest first. One that does not begin at once is put where others can be put at the same time: its
    asking changes nothing else, and many may ask."""

    def __init__(self, standing: AutomationStanding):
        self._standing, self._index, self._id = standing, standing.kept.past, standing.id

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._standing.row.recent or self._id + run_id in self._index

    def __iter__(self) -> Iterator[str]:
        return merge(self._past("", LAST), self._standing.row.recent)

    def _past(self, first: str, after: str) -> Iterator[str]:
        keys = self._index.keys(self._id + first, self._id + after, excludemax=True)
        return (key[len(self._id) :] for key in keys)

    def newest(self, count: int) -> list[str]:
        older = [key[len(self._id) :] for key in newest(self._index, self._id, self._id + LAST, 0, count)]
        return sorted((*older, *self._standing.row.recent), reverse=True)[:count]

    def between(self, first: str, after: str) -> list[str]:
        """Ids from `first` up to `after`, without the latter; the oldest first."""
        recent = (run_id for run_id in self._standing.row.recent if first <= run_id < after)
        return [*merge(self._past(first, after), recent)]

    @property
    def last(self) -> str:
        """The last that began at once or waits, else the last of all; nothing where there is none."""
        recent, waits = self._standing.row.recent, last_of(self._standing.kept.waiting, self._id)
        return max(recent[-1] if recent else "", waits) or last_of(self._index, self._id)

    def add(self, run_id: str) -> None:
        """One that has to wait for something."""
        self._index.insert(self._id + run_id)

    def discard(self, run_id: str) -> None:
        recent, key = self._standing.row.recent, self._id + run_id
        if run_id in recent:
            self._standing.change(recent=tuple(other for other in recent if other != run_id))
        elif key in self._index:
            self._index.remove(key)


def last_of(index: Any, automation_id: str) -> str:
    try:
        key = index.maxKey(automation_id + LAST)
    except ValueError:  # all keys are greater
        return ""
    return key[len(automation_id) :] if key.startswith(automation_id) else ""
