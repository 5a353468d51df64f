"""What may be deleted of files that lie around: how old one really is, and whether a process still has it open.

Must not: delete anything.
"""

from __future__ import annotations

import os
import struct
from functools import lru_cache
from typing import Any, Optional, Set, Tuple

from .proc import pids

Inode = Tuple[int, int]  # device, number
_AT_SYMLINK_NOFOLLOW = 0x100
_STATX_BTIME = 0x800
_STATX_SIZE = 256
_MASK_AT, _BTIME_AT = 0, 80


def newest(about: os.stat_result, name: str, handle: int) -> float:
    """A copy keeps the times of its original, but neither its change time nor its birth."""
    times = [about.st_atime, about.st_mtime, about.st_ctime]
    born = birth(name, handle)
    return max(times) if born is None else max(*times, born)


def birth(name: str, handle: int) -> Optional[float]:
    """When the file was born; None where the file system, the kernel or the C library does not say."""
    statx = _statx()
    if statx is None:
        return None
    answer = bytearray(_STATX_SIZE)
    buffer = statx.ctypes.c_char.from_buffer(answer)
    if statx.call(handle, os.fsencode(name), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, statx.ctypes.byref(buffer)) != 0:
        return None
    if not struct.unpack_from("=I", answer, _MASK_AT)[0] & _STATX_BTIME:
        return None
    seconds, nanoseconds = struct.unpack_from("=qI", answer, _BTIME_AT)
    return seconds + nanoseconds / 1e9


class _Statx:
    def __init__(self, ctypes: Any, call: Any):
        self.ctypes, self.call = ctypes, call


@lru_cache(maxsize=1)
def _statx() -> Optional[_Statx]:
    """Python does not show when a file was born. Loaded when it is first needed."""
    try:
        import ctypes

        call = ctypes.CDLL(None).statx
    except (ImportError, OSError, AttributeError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
    call.restype = ctypes.c_int
    return _Statx(ctypes, call)


def held_open() -> Set[Inode]:
    """The files that are open or mapped in the processes that may be looked at."""
    inodes: Set[Inode] = set()
    for pid in pids():
        for directory in ("fd", "map_files"):
            try:
                names = os.listdir(f"/proc/{pid}/{directory}")
            except OSError:
                continue  # it has ended, or is another user's
            inodes.update(inode for inode in (_inode(f"/proc/{pid}/{directory}/{name}") for name in names) if inode)
    return inodes


def _inode(path: str) -> Optional[Inode]:
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino
