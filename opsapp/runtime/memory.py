"""How the C library keeps memory. glibc keeps what was freed in the middle of its heap until it is asked; other
libraries have no such calls, and need none. Must not: be called per request."""

from __future__ import annotations

import ctypes
import linecache

LIBRARY = ctypes.CDLL(None)
LARGE = 128 << 10  # bytes


def keep_together() -> None:
    """Before the first thread begins. One heap is enough for threads that hold the interpreter while they allocate:
    each of its own would keep its holes. What is large is the system's as soon as it is freed: glibc would take each
    that is freed for a reason to keep larger ones."""
    if hasattr(LIBRARY, "mallopt"):
        LIBRARY.mallopt(-8, 1)  # M_ARENA_MAX
        LIBRARY.mallopt(-3, LARGE)  # M_MMAP_THRESHOLD


def trim() -> None:
    """Call it in a native thread: it takes half a millisecond. Python keeps the lines of each file that a traceback
    has named: they go, too."""
    linecache.clearcache()
    if hasattr(LIBRARY, "malloc_trim"):
        LIBRARY.malloc_trim(0)
