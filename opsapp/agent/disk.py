"""Writing so that it is still there after a crash: whole files by rename, lines by append, both with fsync.

A full disk is when an agent is needed most, and it does nothing that it cannot write down first: `reserve` is room that
it has taken beforehand. Must not: know what is written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import logging
import os
import threading
from typing import Any, Callable, Iterator, List, Optional, TypeVar

T = TypeVar("T")
log = logging.getLogger("disk")
PIECE = 65536
FULL = (errno.ENOSPC, errno.EDQUOT)
LARGEST = 2 * PIECE  # what is larger waits for room: it would leave none for the small records
ROOMY = 4  # a disk that has not so many times as much to give keeps it


class Reserve:
    """Files that are given up one by one when there is no other room, with their blocks and inodes, and made anew when
    there is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._place = ""
        self._pieces = 0

    def use(self, place: str, size: int) -> None:
        """Keep the reserve in this directory from now on, in this many bytes."""
        with self._lock:
            self._place, self._pieces = place, size // PIECE
        self.fill()

    def fill(self) -> None:
        """Make what is missing, if the disk can spare it."""
        with self._lock:
            if self._place:
                try:
                    self._fill()
                except OSError as error:
                    log.warning("no room can be kept aside: %s", error)

    def give(self, wanted: int) -> bool:
        """Whether there is more room now than there was."""
        with self._lock:
            held = self._held() if self._place and wanted <= LARGEST else []
            if not held:
                return False
            os.unlink(os.path.join(self._place, held[-1]))
            sync_directory(self._place)  # some file systems hand out what was freed only after that
            return True

    def _held(self) -> List[str]:
        try:
            return sorted(os.listdir(self._place))
        except FileNotFoundError:
            return []

    def _fill(self) -> None:
        os.makedirs(self._place, mode=0o700, exist_ok=True)
        names = [f"{number:06}" for number in range(self._pieces)]
        held = self._held()
        for name in held:
            if name not in names:
                os.unlink(os.path.join(self._place, name))
        disk = os.statvfs(self._place)
        free = disk.f_frsize * (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail)
        if free < ROOMY * self._pieces * PIECE or (disk.f_files > 0 and disk.f_favail < ROOMY * self._pieces):
            return
        for name in names:
            if name not in held:
                self._make(os.path.join(self._place, name))

    @staticmethod
    def _make(path: str) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, PIECE)
        except OSError:
            os.unlink(path)
            raise
        finally:
            os.close(handle)


reserve = Reserve()  # of this process, which has one state directory


def write_whole(path: str, data: bytes, mode: int = 0o600) -> None:
    """The file is either as before or holds all of `data`, whatever happens."""
    temporary = f"{path}.tmp"
    handle = _create(temporary, mode)
    try:
        _write_all(handle, data)
        os.fsync(handle)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(handle)
    os.rename(temporary, path)
    sync_directory(os.path.dirname(path))


def read_json(path: str, read: Callable[[Any], T], missing: T) -> T:
    """What `read` makes of it; `missing` where there is no such file, or it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return read(json.load(file))
    except FileNotFoundError:
        return missing
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("cannot read %s: %s", path, error)
        return missing


def write_json(path: str, value: object) -> None:
    """What cannot be written is learned again."""
    try:
        write_whole(path, json.dumps(value).encode())
    except OSError as error:
        log.warning("cannot write %s: %s", path, error)


def _create(path: str, mode: int) -> int:
    """Create a file; on a disk without inodes the reserve has some."""
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        except OSError as error:
            if error.errno not in FULL or not reserve.give(0):
                raise


def sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class LineFile:
    """Append-only. A last line torn by a power loss is cut off when it is opened."""

    _handle = -1

    def __init__(self, path: str):
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.size = self._mend()

    def _mend(self) -> int:
        size = os.fstat(self._handle).st_size
        end = size
        while end:
            start = max(0, end - 65536)
            newline = os.pread(self._handle, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._handle, end)
        return end

    def __iter__(self) -> Iterator[bytes]:
        with open(self.path, "rb") as file:
            yield from file

    def at(self, place: int) -> bytes:
        """The line that begins at a byte offset, with its newline."""
        with open(self.path, "rb") as file:
            file.seek(place)
            return file.readline()

    def append(self, line: bytes, sync: bool = True, vital: bool = True) -> None:
        """Append a line; `vital` lines may use the reserve when the disk is full."""
        try:
            _write_all(self._handle, line + b"\n", vital)
        except OSError:
            os.ftruncate(self._handle, self.size)
            raise
        self.size += len(line) + 1
        if sync:
            os.fsync(self._handle)

    def replace(self, lines: "list[bytes]") -> None:
        """All lines anew, by rename."""
        write_whole(self.path, b"".join(line + b"\n" for line in lines))
        os.close(self._handle)
        self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND)
        self.size = os.fstat(self._handle).st_size

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    __del__ = close


def _write_all(handle: int, data: bytes, vital: bool = True) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(handle, view) :]
        except OSError as error:
            if not vital or error.errno not in FULL or not reserve.give(len(view)):
                raise


def take_lock(state_dir: str) -> Optional[int]:
    """Take the lock of the single instance, which the kernel frees however we end; None when it is taken."""
    handle = os.open(os.path.join(state_dir, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    with contextlib.suppress(OSError):  # for people only: on a full disk it is the lock that counts
        os.ftruncate(handle, os.write(handle, f"{os.getpid()}\n".encode()))
    return handle
