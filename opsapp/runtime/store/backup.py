"""Copies of an embedded store.

A FileStorage only grows at its end, so the file up to the last whole transaction is a store of its own. History goes
first: it names nothing in main, while main names series by number.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from zc.lockfile import LockError
from ZODB.FileStorage.FileStorage import packed_version, read_index
from ZODB.fsIndex import fsIndex

from opsapp.lib.problems import Conflict
from opsapp.runtime.store.settings import Settings

from . import embedded, inspection
from .embedded import PARTIAL
from .settings import FILE

NAMED = 20  # damaged objects in a message
LACKING = "damaged.txt"  # beside the copies: what of them cannot be read


def files_of(settings: Settings) -> list[Path]:
    """The store's files, history first; none when the store is elsewhere."""
    uris = [settings.get("zodbconn.uri.history", ""), settings.get("zodbconn.uri", "")]
    return [Path(uri[len(FILE) :].partition("?")[0]) for uri in uris if uri.startswith(FILE)]


class Copy(NamedTuple):
    """One copied file, and the objects in it that cannot be read."""

    name: str
    size: int
    damaged: list[str]


def save(files: list[Path], directory: Path, *, damaged: bool = False) -> list[Copy]:
    """Works beside a server that writes. A store with damaged objects is refused unless asked for; then the directory
    must not hold another backup, and a file in it says what cannot be read."""
    missing = [path.name for path in files if not path.exists()]
    if missing:
        raise Conflict(f"there is no store to copy: {', '.join(missing)} is missing")
    directory.mkdir(parents=True, exist_ok=True)
    if damaged and any((directory / path.name).exists() for path in files):
        raise Conflict(f"{directory} holds a backup already: a damaged one does not take its place. Name another place")
    copied = []
    for path in files:
        target = directory / path.name
        partial = target.with_name(target.name + PARTIAL)
        _copy(path, partial)
        end = whole_until(partial)
        os.truncate(partial, end)
        broken = inspection.damaged(partial)
        if not damaged:
            _refuse_damaged(path, partial, broken)
        partial.replace(target)
        copied.append(Copy(path.name, end, broken))
    _say_what_is_lacking(directory, copied)
    return copied


def _say_what_is_lacking(directory: Path, copied: list[Copy]) -> None:
    lines = [f"{copy.name}: {object_}" for copy in copied for object_ in copy.damaged]
    (directory / LACKING).unlink(missing_ok=True)
    if lines:
        (directory / LACKING).write_text("\n".join(lines) + "\n")


def lacking(directory: Path) -> list[str]:
    """What of a backup cannot be read, as found when it was made."""
    path = directory / LACKING
    return path.read_text().splitlines() if path.exists() else []


def _refuse_damaged(path: Path, copy: Path, broken: list[str]) -> None:
    """Its copy would be taken for a good one, and older copies thrown away."""
    if broken:
        copy.unlink()
        more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
        named = f"{'; '.join(broken[:NAMED])}{more}"
        raise Conflict(
            f"{path.name} has damaged objects, so no copy was made: {named}. `opsapp backup --damaged` copies the rest"
        )


def _copy(path: Path, target: Path) -> None:
    """The copy is on the disk when this returns."""
    with path.open("rb") as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
        copy.flush()
        os.fsync(copy.fileno())


def whole_until(path: Path) -> int:
    """The place where the last whole transaction ends; Conflict when the file is no FileStorage."""
    with path.open("rb") as file:
        if file.read(4) != packed_version:
            raise Conflict(f"{path.name} is not a store")
        embedded.checked_until(file, path)
        file.seek(0)
        try:
            return read_index(file, str(path), fsIndex(), {}, b"\377" * 8, read_only=1)[0]
        except Exception as problem:
            raise Conflict(f"{path.name} is damaged: {problem}") from problem


def restore(directory: Path, files: list[Path], prepare: Callable[[Path], object] = lambda _copy: None) -> list[Path]:
    """Nothing is touched unless all copies are whole and no server runs. What was there is set aside; its new names are
    the answer. `prepare` gets each copy before it takes its place. If it breaks off while names change, the next
    opening of the store finishes it."""
    copies = {path: directory / path.name for path in files}
    missing = [copy.name for copy in copies.values() if not copy.exists()]
    if missing:
        raise Conflict(f"the backup lacks {', '.join(missing)}")
    with _locked(files):
        embedded.finish_restore(files)  # one that broke off before
        for copy in copies.values():
            if whole_until(copy) != copy.stat().st_size:
                raise Conflict(f"{copy.name} is cut off in the middle of a transaction")
        for path, copy in copies.items():  # all of what takes long before anything changes
            partial = path.with_name(path.name + PARTIAL)
            _copy(copy, partial)
            prepare(partial)
        aside = _names_aside(files)
        embedded.begin_restore(files, aside)
        embedded.finish_restore(files)
        return list(aside.values())


def _names_aside(files: list[Path]) -> dict[Path, Path]:
    present, moment = [path for path in files if path.exists()], int(time.time())
    while True:
        ending = time.strftime(".before-%Y%m%dT%H%M%SZ", time.gmtime(moment))
        names = {path: path.with_name(path.name + ending) for path in present}
        if not any(name.exists() for name in names.values()):
            return names
        moment += 1


@contextlib.contextmanager
def _locked(files: list[Path]) -> Iterator[None]:
    try:
        with embedded.locked(files):
            yield
    except LockError:
        raise Conflict("a server runs on this store: stop it first") from None
