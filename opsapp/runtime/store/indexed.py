"""The index beside a data file, written while the file grows; and a witness that the file was cut off.

FileStorage writes the index after what it points to is on the disk, so a file that ends before its index ends has lost
changes; neither `kill -9` nor a power cut does that. Only a pack makes a file shorter, and until its index is written
the old file lies beside it (`.old`). Must not: decide what is done about it.
"""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path
from typing import Any

from ZODB.FileStorage import FileStorage

from opsapp.runtime.base import NodeBase
from opsapp.runtime.internals import save_index

EVERY_S = 30.0
WORTH_BYTES = 32 << 20  # a tenth of a second to read


def known_length(path: Path) -> int | None:
    """The length that the index knows; None without an index, or with one that is of no use."""
    try:
        with _index_of(path).open("rb") as index:
            return int(pickle.load(index))  # its first part says how far it goes
    except Exception:  # noqa: BLE001 - missing or of no use, in whatever way: the store makes it anew
        return None


def is_cut_off(path: Path) -> bool:
    """Whether the file lacks what its index knows. Looked at twice: another process may be packing it."""
    return _is_shorter(path) and not _old_of(path).exists() and _is_shorter(path)


def told(path: Path) -> str:
    """That the file was cut off, and what to do."""
    return (
        f"{path.name} has {path.stat().st_size} bytes, and its index knows {known_length(path)}: changes at its end "
        f"are lost. Put the whole file back, or restore a backup (`opsapp restore DIR`). To go on without what is "
        f"lost, delete {path.name}.index."
    )


def forget_stale(path: Path) -> None:
    """A pack that broke off left the index of the old file."""
    if _is_shorter(path):
        _index_of(path).unlink(missing_ok=True)


def drop_old(path: Path) -> None:
    """Drop the old file once the packed one is in its place, and no index of the old one is there."""
    if path.exists():
        forget_stale(path)
        _old_of(path).unlink(missing_ok=True)


def _is_shorter(path: Path) -> bool:
    known = known_length(path)
    return known is not None and path.exists() and path.stat().st_size < known


def _index_of(path: Path) -> Path:
    return path.with_name(path.name + ".index")


def _old_of(path: Path) -> Path:
    return path.with_name(path.name + ".old")


# -- written from time to time


def start(node: NodeBase) -> None:
    """ZODB writes an index only at a close or a pack; after a kill the file since then is read again, seconds for each
    gigabyte."""
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
