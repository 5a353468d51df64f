"""Durable queues: what is due and when, who carries it out, rows of many writers, outcomes that must be stored.

A queue is a few indexes beside the records that they name, so that no record is read to find out that it has to wait.
Each class here works one index of a room's store for as long as a transaction lasts:

    Agenda   (time, id) rows: work that is due then, and records that may be forgotten then
    Claims   id -> owner: committed before the work begins, so it begins once; a crash leaves the claim for recovery
    Inbox    rows of many writers that do not conflict, taken out once and in order

`until_stored` repeats a transaction for as long as the store is away: the outcome of what has happened is never lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, MutableMapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import gevent
from BTrees.LOBTree import LOBTree
from transaction.interfaces import TransientError

from opsapp.lib.problems import Unavailable

if TYPE_CHECKING:
    from .node import Node

log = logging.getLogger(__name__)

PAGE = 500
AGAIN_S = 1.0
LAST = "\U0010ffff"  # sorts after every id


class Agenda:
    """Rows (time, id, …) in a stored set, the earliest first."""

    def __init__(self, rows: Any):
        self.rows = rows

    def __bool__(self) -> bool:
        return bool(self.rows)

    def add(self, at: float, *item: str) -> None:
        self.rows.add((at, *item))

    def discard(self, at: float, *item: str) -> None:
        if (at, *item) in self.rows:
            self.rows.remove((at, *item))

    def until(self, now: float) -> Iterator[tuple[Any, ...]]:
        """The rows due until `now`, read as they are asked for; nothing that is due later is read."""
        return iter(self.rows.keys(None, (now, LAST)))

    def due(self, now: float, most: int = PAGE) -> list[tuple[Any, ...]]:
        return list(islice(self.until(now), max(0, most)))

    def take(self, now: float, most: int = PAGE) -> list[tuple[Any, ...]]:
        """Take out what is due, as `due` lists it."""
        due = self.due(now, most)
        for row in due:
            self.rows.remove(row)
        return due


class Claims:
    """id -> owner. Two that claim the same at once conflict, and one of them is run again."""

    def __init__(self, owners: Any):
        self.owners = owners

    def claim(self, item: str, owner: str) -> None:
        self.owners[item] = owner

    def release(self, item: str) -> None:
        self.owners.pop(item, None)

    def of(self, owner: str) -> list[str]:
        """The ids that this owner claimed, also where it did not hear of it, because the answer was lost."""
        return [item for item, holder in self.owners.items() if holder == owner]

    def abandoned(self, alive: Collection[str]) -> list[str]:
        """What owners that are gone have left behind: nobody can know how far they came."""
        return [item for item, holder in self.owners.items() if holder not in alive]


class Inbox:
    """`trees`: writer -> its rows by number; `taken`: writer -> the number of its last row that was taken."""

    def __init__(self, trees: Any, taken: MutableMapping[str, int]):
        self.trees, self.taken = trees, taken

    def __bool__(self) -> bool:
        """Whether there is anything to take, without reading any of it."""
        return any(tree and tree.maxKey() > self.taken.get(writer, 0) for writer, tree in self.trees.items())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:
        """The rows that wait."""
        for writer, tree in self.trees.items():
            yield from tree.values(self.taken.get(writer, 0), excludemin=True)

    def put(self, writer: str, row: Any) -> None:
        tree = self.trees.get(writer)
        if tree is None:
            tree = self.trees[writer] = LOBTree()
        tree[tree.maxKey() + 1 if tree else 1] = row

    def take(self, most: int) -> list[Any]:
        """Take rows in the order of each writer. They are the caller's, in its transaction."""
        rows: list[Any] = []
        for writer, tree in self.trees.items():
            keys = list(islice(tree.keys(self.taken.get(writer, 0), excludemin=True), most - len(rows)))
            if not keys:
                continue
            rows += [tree[key] for key in keys]
            self.taken[writer] = keys[-1]
            # The newest stays: its number is where the writer goes on, and no writer meets an empty bucket.
            for key in list(tree.keys(None, min(keys[-1], tree.maxKey() - 1))):
                del tree[key]
        return rows


def until_stored(
    node: Node, fn: Callable[..., Any], *values: Any, waits: Callable[[Exception], None] | None = None
) -> Any:
    """The answer of `fn(root, *values)`, however long the store is away. It may run twice: a commit that broke off may
    have been stored. `waits` hears of each failure, and ends the waiting by raising. A thread does not wait."""
    while True:
        try:
            return node.transact(fn, *values)
        except (Unavailable, TransientError) as away:
            if not node.hub.is_here():
                raise
            if waits is not None:
                waits(away)
            else:
                log.warning("an outcome waits for the store: %s", away)
            gevent.sleep(AGAIN_S)
