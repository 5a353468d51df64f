"""A store on top of the store: it begins with what is committed now, and what is written to it goes nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ZODB
from ZODB.DemoStorage import DemoStorage
from ZODB.interfaces import IMVCCStorage
from ZODB.utils import p64, u64


class Pinned:
    """A storage as it was at one moment, for reading only: what others commit meanwhile is not seen through it."""

    def __init__(self, storage: Any):
        self._own = IMVCCStorage.providedBy(storage)
        self._storage = storage.new_instance() if self._own else storage
        if self._own:
            self._storage.poll_invalidations()
        self._before = p64(u64(self._storage.lastTransaction()) + 1)

    def getName(self) -> str:
        return f"Pinned({self._storage.getName()})"

    def lastTransaction(self) -> bytes:
        return p64(u64(self._before) - 1)

    def loadBefore(self, oid: bytes, tid: bytes) -> Any:
        found = self._storage.loadBefore(oid, min(tid, self._before))
        if found is None:
            return None
        data, start, end = found
        return data, start, None if end is not None and end >= self._before else end

    def close(self) -> None:
        if self._own:
            self._storage.release()


@contextmanager
def overlay(db: Any) -> Iterator[Any]:
    """A database over `db` as it is committed now; it is gone afterwards, with everything that was written."""
    pinned = Pinned(db.storage)
    over = ZODB.DB(DemoStorage(base=pinned, close_base_on_close=False), pool_size=2)
    try:
        yield over
    finally:
        over.close()
        pinned.close()
