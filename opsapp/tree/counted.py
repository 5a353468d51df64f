"""Lists that grow with the years: how many rows of each kind there are, stored, and the newest rows from their own end.

The length of a B-tree and its last keys are walks over all of it. Must not: know what the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from BTrees.Length import Length
from BTrees.OOBTree import OOBTree
from persistent import Persistent

LAST = "\U0010ffff"
NEAR = 2000  # further from the end a walk over all keys costs less than so many look-ups


class StoredCounts(Persistent):
    """Transactions that count the same kind at the same time merge."""

    def __init__(self) -> None:
        self._lengths = OOBTree()

    def __getitem__(self, kind: str) -> int:
        length = self._lengths.get(kind)
        return 0 if length is None else int(length())

    def add(self, *kinds: str, by: int = 1) -> None:
        for kind in kinds:
            if kind not in self._lengths:
                self._lengths[kind] = Length()
            self._lengths[kind].change(by)

    def forget(self, *kinds: str) -> None:
        """Drops the counts of kinds that nobody will count again."""
        for kind in kinds:
            self._lengths.pop(kind, None)


def newest(tree: Any, low: Any, high: Any, offset: int, limit: int) -> list[Any]:
    """Keys of a tree from `low` to `high`, the greatest first."""
    return list(islice(descending(tree, low, high, offset + limit), offset, offset + limit))


def descending(tree: Any, low: Any, high: Any, most: int) -> Iterator[Any]:
    """Yield keys one after the other, for whoever takes `most`. Keys are texts that are not empty, or tuples that end
    with one."""
    return reversed(list(tree.keys(low, high))) if most > NEAR else _backward(tree, low, high)


def _backward(tree: Any, low: Any, high: Any) -> Iterator[Any]:
    first = next(iter(tree.keys(low, high)), None)
    key = None if first is None else tree.maxKey(high)
    while key is not None:
        yield key
        key = None if key == first else tree.maxKey(just_before(key))


def just_before(key: Any) -> Any:
    """Greater than all keys before this one, and less than it."""
    if isinstance(key, tuple):
        return *key[:-1], just_before(key[-1])
    return f"{key[:-1]}{chr(ord(key[-1]) - 1)}{LAST}"
