"""Who holds what, read from /proc: the process that listens on a port, and those that keep deleted files open.

Must not: signal anybody, judge what it reads.
"""

from __future__ import annotations

import os
import stat
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from .proc import maybe, name_of, pids

_TABLES = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}  # and the state of one that takes connections
Going = Callable[[], bool]


class Holder(NamedTuple):
    pid: int
    name: str


class DeletedFiles(NamedTuple):
    holder: Holder
    size: int
    paths: Tuple[str, ...]


def listener(port: int, going: Going) -> Optional[Holder]:
    """The process that listens on the port; None where nobody does, or nobody may see it."""
    sockets = {f"socket:[{inode}]" for inode in _sockets_on(port)}
    for pid, descriptor in _descriptors(going) if sockets else ():
        try:
            if os.readlink(descriptor) in sockets:
                return _holder(pid)
        except OSError:  # closed meanwhile
            continue
    return None


def deleted_on(mount: str, going: Going) -> List[DeletedFiles]:
    """Deleted files of the mount that are still open, the largest first; a file counts once."""
    device, mount_id = os.stat(mount).st_dev, _mount_id(mount)
    sizes: Dict[int, int] = {}
    paths: Dict[int, List[str]] = {}
    seen: Set[int] = set()
    for pid, descriptor in _descriptors(going):
        try:
            about = os.stat(descriptor)
            if about.st_nlink or not stat.S_ISREG(about.st_mode) or about.st_ino in seen:
                continue
            if about.st_dev != device and not (mount_id and _mount_id_at(descriptor) == mount_id):
                continue
            path = os.readlink(descriptor)
        except OSError:  # closed meanwhile
            continue
        seen.add(about.st_ino)
        sizes[pid] = sizes.get(pid, 0) + about.st_blocks * 512
        paths.setdefault(pid, []).append(path)
    held = [DeletedFiles(_holder(pid), size, tuple(paths[pid])) for pid, size in sizes.items()]
    return sorted(held, key=lambda files: -files.size)


def _mount_id(mount: str) -> str:
    descriptor = os.open(mount, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return _mount_id_at(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def _mount_id_at(descriptor: str) -> str:
    """The mount of an open file. In an overlay, the device of a file is that of the file system it lies on."""
    lines = (maybe(descriptor.replace("/fd/", "/fdinfo/")) or "").splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("mnt_id:")), "")


def _sockets_on(port: int) -> Iterator[str]:
    for table, state in _TABLES.items():
        for line in (maybe(f"/proc/net/{table}") or "").splitlines()[1:]:
            columns = line.split()
            if len(columns) > 9 and columns[3] == state and int(columns[1].rpartition(":")[2], 16) == port:
                yield columns[9]


def _descriptors(going: Going) -> Iterator[Tuple[int, str]]:
    """Yield the open descriptors of processes as long as there is time."""
    for pid in pids():
        if not going():
            return
        try:
            numbers = os.listdir(f"/proc/{pid}/fd")
        except OSError:  # gone, or another user's
            continue
        for number in numbers:
            yield int(pid), f"/proc/{pid}/fd/{number}"


def _holder(pid: int) -> Holder:
    return Holder(pid, name_of(pid) or "a process that is gone")
