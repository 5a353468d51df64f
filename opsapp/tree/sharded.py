"""A B-tree in sixteen parts, for collections that many clients add to at once.

Two transactions that add different keys to one B-tree merge, except when a bucket splits; while a tree is young that is
often. Here they must meet in the same sixteenth as well.
"""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from .counted import LAST, descending

PARTS = 16


class ShardedTree(Persistent):
    """What a Folder needs of a B-tree: text keys, in order."""

    def __init__(self) -> None:
        self._parts = tuple(OOBTree() for _ in range(PARTS))

    def parts(self) -> tuple[Any, ...]:
        return self._parts

    def _part(self, key: str) -> Any:
        return self._parts[zlib.crc32(key.encode()) % PARTS]

    def get(self, key: str, default: Any = None) -> Any:
        return self._part(key).get(key, default)

    def __setitem__(self, key: str, value: Any) -> None:
        self._part(key)[key] = value

    def __delitem__(self, key: str) -> None:
        del self._part(key)[key]

    def __contains__(self, key: str) -> bool:
        return key in self._part(key)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def keys(self, low: str | None = None) -> Iterator[str]:
        return heapq.merge(*(part.keys(low) for part in self._parts))

    def last(self, count: int, beginning: str | None = None) -> list[str]:
        """The greatest keys, or the greatest that begin so, in order."""
        parts = [descending(part, beginning, (beginning or "") + LAST, count) for part in self._parts]
        return list(islice(heapq.merge(*parts, reverse=True), count))[::-1]

    def items(self, low: str | None = None) -> Iterator[tuple[str, Any]]:
        return heapq.merge(*(part.items(low) for part in self._parts), key=lambda item: item[0])

    def values(self, low: str | None = None) -> Iterator[Any]:
        return (value for _, value in self.items(low))
