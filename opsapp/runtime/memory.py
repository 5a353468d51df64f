"""Giving freed memory back: glibc keeps what was freed in the middle of its heap until it is asked."""

from __future__ import annotations

import ctypes


def trim() -> None:
    """In a native thread; takes half a millisecond. Other C libraries have no such call, and no such need."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)
