"""The files of an embedded store, before they are opened and while their lock is held.

A restore or pack that broke off is finished or taken back, what a power cut left behind the last whole transaction is
cut off, old files are deleted. A time to come is no damage where every object of the change carries it. A store that is
incomplete or cannot be right is refused: a new store beside the remains of an old one looks like data loss.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from persistent.TimeStamp import TimeStamp
from zc.lockfile import LockFile
from ZODB.FileStorage.FileStorage import packed_version
from ZODB.FileStorage.format import DATA_HDR, DATA_HDR_LEN, TRANS_HDR, TRANS_HDR_LEN

from opsapp.lib.problems import Conflict

from . import indexed

log = logging.getLogger(__name__)

START = len(packed_version)
PARTIAL = ".partial"
RESTORE = ".restore"  # beside the main file while a restore changes names
AHEAD_S = 10.0  # by this much clocks differ that nobody has set
CUT_KEPT_S = 7 * 86400


class Transaction(NamedTuple):
    position: int
    tid: bytes
    end: int


class AheadChanges(NamedTuple):
    """Changes whose times have not come yet."""

    number: int
    first: TimeStamp
    last: TimeStamp


class StoreFile(NamedTuple):
    """`used`: it holds more than an empty database."""

    path: Path
    used: bool


@contextlib.contextmanager
def locked(files: list[Path]) -> Iterator[None]:
    """LockError when another process has one of them."""
    with contextlib.ExitStack() as held:
        for path in files:
            held.callback(LockFile(f"{path}.lock").close)
        yield


def make_ready(files: list[Path], key: Path | None, *, new_history: bool = False) -> None:
    """`files`: history first, main last. `key`: the master key's file, if beside the store. Conflict when the store
    must not be opened."""
    if not files:
        return
    with locked(files):
        if finish_restore(files):
            log.warning("a restore that was interrupted has been finished: %s", files[-1].parent)
        for path in files:
            take_back_pack(path)
        told = incomplete(files, key, new_history=new_history)
        if told:
            raise Conflict(told)
        _part_of(_marker(files)).unlink(missing_ok=True)
        for path in files:
            if path.exists():
                indexed.forget_stale(path)
                cut_tail(path)
                _clean(path)


def unfinished(files: list[Path]) -> bool:
    """Whether the next start must finish something before it can say whether the store is complete."""
    return (bool(files) and _marker(files).exists()) or any(_pack_broke_off(path) for path in files)


def incomplete(files: list[Path], key: Path | None, *, new_history: bool = False) -> str | None:
    """What is missing of the store and what to do, in words."""
    main, others = StoreFile(files[-1], is_used(files[-1])), [StoreFile(path, is_used(path)) for path in files[:-1]]
    if not main.used:
        leftovers = [part.path for part in others if part.used] + _remains(files)
        leftovers += [key] if key is not None and key.exists() else []
        return _lost_main(main.path, leftovers) if leftovers else None
    lost = [part.path for part in others if not _has_root(part.path)]
    if lost and not new_history:
        names = ", ".join(map(str, lost))
        return (
            f"{names} is missing or empty: it has everything that was measured, and {main.path.name} belongs to it. "
            f"Put it back, or restore a backup (`opsapp restore DIR`). `opsapp init --new-history` goes on without it."
        )
    cut_off = next((path for path in files if is_store(path) and indexed.is_cut_off(path)), None)
    return None if cut_off is None else indexed.told(cut_off)


def _lost_main(main: Path, leftovers: list[Path]) -> str:
    names = ", ".join(path.name for path in leftovers)
    told = (
        f"{main} is {'empty' if main.exists() else 'missing'}, but there is an older store's {names} beside it. No new "
        f"store is made, so that nothing is lost. Put {main.name} back, or restore a backup (`opsapp restore DIR`)."
    )
    aside = [path for path in leftovers if path.name.startswith(f"{main.name}.before-")]
    if aside:
        told += f" {aside[-1].name} is the store that a restore set aside: to use it, rename it to {main.name}."
    return told + f" If you want a new, empty store, move {names} to another directory first."


def _remains(files: list[Path]) -> list[Path]:
    """What only a store that was used leaves beside its files."""
    patterns = (".before-*", ".old", ".pack", ".tr[0-9]*")
    return sorted(
        path_beside for path in files for pattern in patterns for path_beside in path.parent.glob(path.name + pattern)
    )


def _has_root(path: Path) -> bool:
    """Whether a database was ever opened on this file."""
    return path.exists() and path.stat().st_size > START


def is_store(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open("rb") as file:
        return file.read(START) == packed_version


def is_used(path: Path) -> bool:
    """Whether it has more than the one transaction that makes an empty database."""
    if not _has_root(path):
        return False
    with path.open("rb") as file:
        if file.read(START) != packed_version:
            return True  # something else, which whoever opens it will say
        first = next(transactions(file, START), None)
        return first is None or first.end < path.stat().st_size


def transactions(file: IO[bytes], position: int) -> Iterator[Transaction]:
    """Whole transactions from a position on, until the end or one that is not whole."""
    size = os.fstat(file.fileno()).st_size
    while position + TRANS_HDR_LEN <= size:
        transaction = _transaction_at(file, position, size)
        if transaction is None:
            return
        yield transaction
        position = transaction.end


def _transaction_at(file: IO[bytes], position: int, size: int) -> Transaction | None:
    file.seek(position)
    tid, length, status, user, description, extension = struct.unpack(TRANS_HDR, file.read(TRANS_HDR_LEN))
    end = position + length + 8
    if status not in b" up" or length < TRANS_HDR_LEN + user + description + extension or end > size:
        return None
    return Transaction(position, tid, end) if _length_before(file, end) == length else None


def _length_before(file: IO[bytes], end: int) -> int:
    """A transaction's length stands behind it a second time."""
    file.seek(end - 8)
    return int.from_bytes(file.read(8), "big")


def cut_tail(path: Path) -> None:
    """Cut what is not whole off the end; Conflict when the file is damaged before its last whole transaction ends."""
    size = path.stat().st_size
    if size <= START:
        return
    with path.open("rb") as file:
        if file.read(START) != packed_version:
            return  # whoever opens it says so
        end, last = _whole_until(file, path)
        if _has_not_come(last):
            log.warning(
                "%s: the last change has the time %s UTC, which has not come yet: this machine's clock was set back, "
                "and new changes get times after it", path.name, said(TimeStamp(last)))  # fmt: skip
        if end == size:
            return
        _check_nothing_whole_behind(file, path, end, last)
        file.seek(end)
        tail = file.read(1 << 20)
        zeros = not tail.strip(b"\0") and not any(iter(lambda: file.read(1 << 20).strip(b"\0"), b""))
        if not zeros:
            file.seek(end)
            _keep(file, path)
    os.truncate(path, end)
    what = "zeros, as a power cut leaves them" if zeros else "a change that was never finished"
    log.warning("%s: %d bytes behind byte %d cut off: %s", path, size - end, end, what)


def _keep(tail: IO[bytes], path: Path) -> None:
    number = 0
    while (kept := path.with_name(f"{path.name}.tr{number}")).exists():
        number += 1
    with kept.open("xb") as copy:
        shutil.copyfileobj(tail, copy, 1 << 20)
    log.warning("what is cut off is kept in %s for %d days", kept, CUT_KEPT_S // 86400)


def _whole_until(file: IO[bytes], path: Path) -> tuple[int, bytes]:
    """Where the last whole transaction ends, and its id."""
    return checked_until(file, path, _known_until(file, path))


def checked_until(file: IO[bytes], path: Path, position: int = START) -> tuple[int, bytes]:
    """Where the last whole transaction ends, looked for from a position on, and its id. Conflict where a time is not
    the transaction's own."""
    last = bytes(8)
    for transaction in transactions(file, position):
        _check_time(file, path, transaction, last)
        position, last = transaction.end, transaction.tid
    return position, last


def ahead(path: Path) -> AheadChanges | None:
    """What of a file was committed at times that have not come yet."""
    with path.open("rb") as file:
        tids = [change.tid for change in transactions(file, START) if _has_not_come(change.tid)]
    return AheadChanges(len(tids), TimeStamp(tids[0]), TimeStamp(tids[-1])) if tids else None


def said(stamp: TimeStamp) -> str:
    return str(stamp)[:19]


def _known_until(file: IO[bytes], path: Path) -> int:
    """The place where the last transaction begins that the file's index knows; the first without an index."""
    position, size = indexed.known_length(path) or 0, os.fstat(file.fileno()).st_size
    if not START + TRANS_HDR_LEN + 8 <= position <= size:
        return START
    begin = position - 8 - _length_before(file, position)
    known = _transaction_at(file, begin, size) if begin >= START else None
    return begin if known is not None and known.end == position else START


def _has_not_come(tid: bytes) -> bool:
    return tid > bytes(8) and bool(TimeStamp(tid).timeTime() > time.time() + AHEAD_S)


def _check_time(file: IO[bytes], path: Path, transaction: Transaction, last: bytes) -> None:
    """Each transaction is given a later time than the last, whatever the clock: an earlier one is a Conflict, as is a
    time to come that is not its own."""
    comes_later = transaction.tid > last
    if comes_later and (not _has_not_come(transaction.tid) or _is_own_time(file, transaction)):
        return
    time_said = said(TimeStamp(transaction.tid)) if transaction.tid > bytes(8) else "no time"
    wrong = "has not come yet and is not that of its objects" if comes_later else "is before the change that it follows"
    raise Conflict(
        f"{path.name} has a change at byte {transaction.position} with the time {time_said} UTC, which {wrong}. "
        f"The file is damaged: restore a backup (`opsapp restore DIR`)."
    )


def _is_own_time(file: IO[bytes], transaction: Transaction) -> bool:
    """Whether all objects of a transaction carry its time, as they do whatever the clock said. Changed bytes do not
    agree."""
    file.seek(transaction.position)
    _, _, _, *texts = struct.unpack(TRANS_HDR, file.read(TRANS_HDR_LEN))
    begin = position = transaction.position + TRANS_HDR_LEN + sum(texts)
    end = transaction.end - 8
    while position + DATA_HDR_LEN <= end:
        file.seek(position)
        _, tid, _, place, _, length = struct.unpack(DATA_HDR, file.read(DATA_HDR_LEN))
        if (tid, place) != (transaction.tid, transaction.position):
            return False
        position += DATA_HDR_LEN + (length or 8)
    return begin < position == end


def _check_nothing_whole_behind(file: IO[bytes], path: Path, end: int, last: bytes) -> None:
    """What cannot be read is a tail only where nothing whole follows; else it is damage, and a cut loses changes."""
    size = os.fstat(file.fileno()).st_size
    begin = size - 8 - _length_before(file, size)
    if not end < begin <= size - TRANS_HDR_LEN:
        return
    behind = _transaction_at(file, begin, size)
    if behind is None or behind.tid <= last:
        return
    if not _has_not_come(behind.tid) or _is_own_time(file, behind):
        raise Conflict(
            f"{path.name} is damaged at byte {end}, and changes behind it are whole: restore a backup "
            f"(`opsapp restore DIR`)."
        )


def _pack_broke_off(path: Path) -> bool:
    beside = [path.with_name(path.name + ending) for ending in (".old", ".pack")]
    return not path.exists() and all(path_beside.exists() for path_beside in beside)


def take_back_pack(path: Path) -> None:
    """A pack that ended between its two renamings left the whole file under its other name."""
    if _pack_broke_off(path):
        path.with_name(path.name + ".old").rename(path)
        log.warning("a pack of %s was interrupted: the file is as it was before", path)


def _clean(path: Path) -> None:
    for ending in (".old", ".pack", PARTIAL, *(PARTIAL + suffix for suffix in (".lock", ".index", ".tmp"))):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    for kept in path.parent.glob(f"{path.name}.tr[0-9]*"):
        if kept.stat().st_mtime < time.time() - CUT_KEPT_S:
            kept.unlink()


def _part_of(path: Path) -> Path:
    return path.with_name(path.name + PARTIAL)


def _marker(files: list[Path]) -> Path:
    return files[-1].with_name(files[-1].name + RESTORE)


def begin_restore(files: list[Path], aside: dict[Path, Path]) -> None:
    """The new files stand beside the old ones as `.partial`, whole. From here on the restore is finished, by this
    process or the next that opens the store."""
    marker = _marker(files)
    partial = _part_of(marker)
    with partial.open("w") as file:
        json.dump({str(path): str(name) for path, name in aside.items()}, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(marker)


def finish_restore(files: list[Path]) -> bool:
    """Whether there was one to finish. May be repeated after it broke off at any point."""
    marker = _marker(files)
    if not marker.exists():
        return False
    aside = {Path(path): Path(name) for path, name in json.loads(marker.read_text()).items()}
    for path in files:
        partial = _part_of(path)
        if not partial.exists():
            continue  # it is in its place already
        path.with_name(path.name + ".index").unlink(missing_ok=True)
        if path in aside and not aside[path].exists():
            path.rename(aside[path])
        partial.replace(path)
    marker.unlink()
    return True
