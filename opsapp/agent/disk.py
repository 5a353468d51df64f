"""Writing so that it is still there after a crash: whole files by rename, lines by append, both with fsync.

A full disk is when an agent is needed most, and it does nothing that it cannot write down first: `reserve` is room that
it has taken beforehand. Must not: know what is written.
"""
from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
from typing import Iterator, Optional

log = logging.getLogger("disk")
PIECE = 65536
LARGEST = 2 * PIECE    # what is larger waits for room: it would leave none for the small records
ROOMY = 4              # the reserve is taken only from a disk that has so many times as much to give


class Reserve:
    """Room on the disk for small records, given up piece by piece when there is no other, taken anew when there is."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: Optional[int] = None
        self._size = 0

    def use(self, path: str, size: int) -> None:
        """From now on it is this file, of so many bytes."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
            self._handle, self._size = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), size
        self.fill()

    def fill(self) -> None:
        """Take what is missing, if the disk can spare it."""
        with self._lock:
            if self._handle is None:
                return
            held, disk = os.fstat(self._handle).st_size, os.fstatvfs(self._handle)
            free = disk.f_frsize * (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail)
            if held > self._size:
                os.ftruncate(self._handle, self._size)
            elif held < self._size and free >= ROOMY * self._size:
                try:
                    os.posix_fallocate(self._handle, 0, self._size)
                except OSError as error:
                    log.warning("no room can be kept aside: %s", error)

    def give(self, wanted: int) -> bool:
        """Whether there is more room now than there was."""
        with self._lock:
            held = os.fstat(self._handle).st_size if self._handle is not None else 0
            if self._handle is None or not held or wanted > LARGEST:
                return False
            os.ftruncate(self._handle, max(0, held - PIECE))
            os.fsync(self._handle)    # some file systems hand out what was freed only after that
            return True


reserve = Reserve()    # of this process, which has one state directory


def write_whole(path: str, data: bytes, mode: int = 0o600) -> None:
    """The file is either as before or holds all of `data`, whatever happens."""
    temporary = f"{path}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
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


def sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Lines:
    """An append-only file of lines. A last line torn by a power loss is cut off when it is opened."""

    def __init__(self, path: str):
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.size = self._mend()

    def _mend(self) -> int:
        size = os.fstat(self._handle).st_size
        end = size
        while end:
            start = max(0, end - 65536)
            found = os.pread(self._handle, end - start, start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
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
        """One more line; `vital` ones have the reserve when the disk is full."""
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
        os.close(self._handle)


def _write_all(handle: int, data: bytes, vital: bool = True) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(handle, view):]
        except OSError as error:
            if not vital or error.errno not in (errno.ENOSPC, errno.EDQUOT) or not reserve.give(len(view)):
                raise
