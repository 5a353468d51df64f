"""Room on the disks of an embedded store: a write that would find none is refused before it begins.

A FileStorage that runs out of room in a write keeps the rest in its file's buffer: every later write fails, and once
there is room the rest is written behind the end of the file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ZODB.FileStorage import FileStorage

from opsapp.lib.problems import StoreFull

LEAST = 4 << 20  # bytes; more than any transaction here takes
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Room:
    def __init__(self, databases: Iterable[Any]):
        files = [db.storage.getName() for db in databases if isinstance(db.storage, FileStorage)]
        self.directories = sorted({Path(name).parent for name in files})

    def check(self) -> None:
        if self.is_short():
            raise StoreFull

    def is_short(self) -> bool:
        return any(free(directory) < LEAST for directory in self.directories)


def free(directory: Path) -> float:
    """Bytes that this process may still take; of a directory that was removed under its open files nobody can say."""
    try:
        about = os.statvfs(directory)
    except FileNotFoundError:
        return float("inf")
    return (about.f_bavail if os.geteuid() else about.f_bfree) * about.f_frsize
