"""Memory that was freed in the middle of the heap is the system's again, and threads have one heap."""

import ctypes
import subprocess
import sys
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


THREADS = """
import ctypes, sys, threading
from opsapp.cli import serve
from opsapp.runtime import memory
if sys.argv[1] == "serve":
    serve.server_settings = sys.exit  # all that comes before the settings are read
    try:
        serve.serve(type("Asked", (), {"ini": 0}))
    except SystemExit:
        pass
libc = ctypes.PyDLL(None)  # it keeps the interpreter: a thread that waits for it takes no other heap
libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(4)
def allocate():
    together.wait()
    libc.malloc(3000)
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(3)]
for thread in threads: thread.start()
together.wait(), together.wait()
class Figures(ctypes.Structure):
    _fields_ = [(str(number), ctypes.c_size_t) for number in range(10)]
libc.mallinfo2.restype = Figures
libc.free.argtypes = [ctypes.c_void_p]
libc.free(libc.malloc(16 << 20))
before = libc.mallinfo2()
libc.malloc(1 << 20)
print(getattr(libc.mallinfo2(), "3") - getattr(before, "3"))  # pieces that are the system's when they are freed
libc.fopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fopen(sys.argv[2].encode(), b"w")))
libc.fflush(None)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="this C library has no mallinfo2")
@pytest.mark.parametrize(("command", "shared"), [("serve", True), ("another", False)])
def test_all_threads_of_a_server_have_one_heap_and_what_is_large_has_none(command, shared, tmp_path):
    program = [sys.executable, "-W", "ignore", "-c", THREADS, command, tmp_path / "heaps"]
    told = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    assert int(told) == shared
    heaps = (tmp_path / "heaps").read_text().count("<heap nr=")
    assert (heaps == 1) is shared


def _resident():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")
