"""Overwriting a few bytes of one object in a store's file, as a disk does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ZODB.FileStorage import FileStorage
from ZODB.FileStorage.format import DATA_HDR_LEN

NOISE = bytes(range(0xE0, 0xF0))


def overwrite(path: Path, oid: bytes, share: float, noise: bytes = NOISE) -> None:
    """16 bytes of its newest record, at this share of its data (0 begins with the class, 1 ends with the state)."""
    storage = FileStorage(str(path), read_only=True)
    position = storage._lookup_pos(oid)
    header = storage._read_data_header(position, oid)
    storage.close()
    begin = position + DATA_HDR_LEN
    with path.open("r+b") as file:
        file.seek(begin + int(share * max(0, header.plen - len(noise))))
        file.write(noise[: header.plen])


def oid_of(service: Any, fn: Any, *values: Any) -> bytes:
    """The id of the object that `fn(root, *values)` answers."""
    return service.transact(lambda root: fn(root, *values)._p_oid)
