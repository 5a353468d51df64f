"""The index of an embedded store, written while it grows.

ZODB writes one when a store is closed or packed; after a kill the whole file since then is read again, some seconds for
each gigabyte. Lives here: writing it from time to time. Must not: be needed; an old or a missing index is only slow.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ZODB.FileStorage import FileStorage

from .base import NodeBase
from .internals import save_index

EVERY_S = 30.0
WORTH_BYTES = 32 << 20  # a tenth of a second to read


def start(node: NodeBase) -> None:
    storages = [db.storage for db in node.store.databases.values() if isinstance(db.storage, FileStorage)]
    if storages:
        written: dict[str, int] = {}
        save = partial(save_grown, storages, written)
        node.supervisor.add("store-index", lambda: node.lane("looking", 1).run(save), every=EVERY_S)


def save_grown(storages: list[Any], written: dict[str, int], worth: int = WORTH_BYTES) -> bool:
    """Write the index of each file that is so much larger (or smaller, after a pack) than when it was written last."""
    for storage in storages:
        name, size = storage.getName(), storage.getSize()
        if abs(size - written.get(name, 0)) >= worth:
            save_index(storage)
            written[name] = size
    return False
