"""Values for a program by a descriptor each: a file in memory that nobody changes any more.

What stands in its environment is the number. Must not: know what a value is, or keep one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import Dict, Iterable, Iterator

Handles = Dict[str, int]  # by the name of the variable that tells the number


@contextlib.contextmanager
def sealed(values: Dict[str, str]) -> Iterator[Handles]:
    """Keep the values in sealed files for as long as it takes to start whoever inherits them."""
    handles: Handles = {}
    try:
        for name, value in values.items():
            handles[name] = _made(value)
        yield handles
    finally:
        close(handles.values())


def numbers(handles: Handles) -> Dict[str, str]:
    """The handles' numbers, as the environment takes them."""
    return {name: str(handle) for name, handle in handles.items()}


def close(handles: Iterable[int]) -> None:
    for handle in handles:
        os.close(handle)


def _made(value: str) -> int:
    if not hasattr(os, "memfd_create"):  # as where Python was built for an old C library
        raise OSError(0, "this Python makes no files in memory, so it hands over no descriptors")
    handle = os.memfd_create("opsapp", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(value.encode("utf-8"))
        os.lseek(handle, 0, os.SEEK_SET)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(handle)
        raise
    return handle
