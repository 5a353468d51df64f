"""Giving freed memory back: glibc keeps what was freed in the middle of its heap until it is asked."""

from __future__ import annotations

import ctypes
import linecache


def trim() -> None:
    """Call it in a native thread: it takes half a millisecond. Other C libraries have no such call, and need none.
    Python keeps the lines of each file that a traceback has named: they go, too."""
    linecache.clearcache()
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
