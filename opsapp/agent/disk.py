"""Writing so that it is still there after a crash: whole files by rename, lines by append, both with fsync.

Must not: know what is written.
"""
from __future__ import annotations

import os
from typing import Iterator


def write_whole(path: str, data: bytes, mode: int = 0o600) -> None:
    """The file is either as before or holds all of `data`, whatever happens."""
    temporary = f"{path}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        _write_all(handle, data)
        os.fsync(handle)
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

    def append(self, line: bytes, sync: bool = True) -> None:
        try:
            _write_all(self._handle, line + b"\n")
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


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view):]
