"""Memory that was freed in the middle of the heap is the system's again."""

import ctypes
from pathlib import Path

import pytest

from opsapp.runtime import memory

PIECES, SIZE = 20_000, 2_000


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no malloc_trim")
def test_freed_memory_is_given_back():
    pieces = [bytearray(SIZE) for _ in range(PIECES)]
    kept = pieces[::100]  # the heap does not get shorter by itself
    pieces.clear()
    before = _resident()
    memory.trim()
    assert before - _resident() > PIECES * SIZE / 2
    assert len(kept) == PIECES / 100


def _resident():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")
