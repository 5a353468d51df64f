"""Copies of an embedded store, and packing.

A FileStorage only ever grows at its end, transaction by transaction, so the file up to the last whole transaction is a
store of its own. History goes first: it names nothing in main, while main names series by number.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from zc.lockfile import LockError, LockFile
from ZODB.FileStorage.FileStorage import packed_version, read_index
from ZODB.fsIndex import fsIndex

from opsapp.lib.problems import Conflict, Invalid

from . import past
from .settings import FILE
from .store import Store

DAY_S = 86400
PARTIAL = ".partial"


def files_of(settings: dict[str, Any]) -> list[Path]:
    """The files of the embedded databases, history first; none when the store is elsewhere."""
    uris = [settings.get("zodbconn.uri.history", ""), settings.get("zodbconn.uri", "")]
    return [Path(uri[len(FILE) :].partition("?")[0]) for uri in uris if uri.startswith(FILE)]


def pack(store: Store, days: int) -> None:
    """Drop revisions older than `days`, and what nothing refers to any more. Blocks: call it in a native thread."""
    if days < 0:
        raise Invalid({"days": "must not be negative"})
    until = time.time() - days * DAY_S
    store.transact(past.note_pack, (until,))
    for db in store.databases.values():
        db.pack(until)


def save(files: list[Path], directory: Path) -> list[tuple[str, int]]:
    """Copy each file up to its last whole transaction; names and sizes. Works beside a server that writes."""
    missing = [path.name for path in files if not path.exists()]
    if missing:
        raise Conflict(f"there is no store to copy: {', '.join(missing)} is missing")
    directory.mkdir(parents=True, exist_ok=True)
    copied = []
    for path in files:
        target = directory / path.name
        partial = target.with_name(target.name + PARTIAL)
        with path.open("rb") as source, partial.open("wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
            copy.flush()
            os.fsync(copy.fileno())
        end = whole_until(partial)
        os.truncate(partial, end)
        partial.replace(target)
        copied.append((path.name, end))
    return copied


def whole_until(path: Path) -> int:
    """Where the last whole transaction of a FileStorage file ends; Conflict when it is none."""
    with path.open("rb") as file:
        if file.read(4) != packed_version:
            raise Conflict(f"{path.name} is not a store")
        file.seek(0)
        try:
            return read_index(file, str(path), fsIndex(), {}, b"\377" * 8, read_only=1)[0]
        except Exception as problem:
            raise Conflict(f"{path.name} is damaged: {problem}") from problem


def restore(directory: Path, files: list[Path]) -> list[Path]:
    """Put the copies in the place of the files. Nothing is touched unless all copies are whole and no server runs; what
    was in their place is set aside, and its new names are the answer."""
    copies = {path: directory / path.name for path in files}
    missing = [copy.name for copy in copies.values() if not copy.exists()]
    if missing:
        raise Conflict(f"the backup lacks {', '.join(missing)}")
    locks = [_lock(path) for path in files]
    try:
        for copy in copies.values():
            if whole_until(copy) != copy.stat().st_size:
                raise Conflict(f"{copy.name} is cut off in the middle of a transaction")
        partials = {path: path.with_name(path.name + PARTIAL) for path in files}
        for path, partial in partials.items():  # all of what takes long before anything changes
            shutil.copyfile(copies[path], partial)
        aside = _names_aside(files)
        for path, name in aside.items():
            path.with_name(path.name + ".index").unlink(missing_ok=True)
            path.rename(name)
        for path, partial in partials.items():
            partial.replace(path)
        return list(aside.values())
    finally:
        for lock in locks:
            lock.close()


def _names_aside(files: list[Path]) -> dict[Path, Path]:
    """What each file that is there will be called: all of one restore have the same ending."""
    present, moment = [path for path in files if path.exists()], int(time.time())
    while True:
        ending = time.strftime(".before-%Y%m%dT%H%M%SZ", time.gmtime(moment))
        names = {path: path.with_name(path.name + ending) for path in present}
        if not any(name.exists() for name in names.values()):
            return names
        moment += 1


def _lock(path: Path) -> LockFile:
    try:
        return LockFile(str(path) + ".lock")
    except LockError:
        raise Conflict("a server runs on this store: stop it first") from None


def sizes(databases: dict[str, Any]) -> dict[str, int]:
    """Bytes of each database."""
    return {name or "main": db.getSize() for name, db in databases.items()}
