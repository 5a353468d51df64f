"""Reads what one program writes until it has ended, and keeps the beginning of it.

Must not: start or end a program.
"""

from __future__ import annotations

import errno
import os
import time
from typing import IO, Callable, List, Optional, Protocol

from opsapp.wire.handles import readable

DRAIN_S = 0.2  # after the program has ended: a daemon it left behind may hold its output open for ever


class EndSignal(Protocol):
    """True, and readable, once the program must be ended."""

    def __bool__(self) -> bool: ...

    def fileno(self) -> int: ...


class StartedProgram(Protocol):
    """A started program, whoever is its parent."""

    pid: int
    stdout: Optional[IO[bytes]]

    def poll(self) -> Optional[int]:
        """Its exit code; None while it runs."""

    def wait(self) -> int:
        """The exit code, once the program has ended and all that ends with it."""

    def end_handle(self) -> int:
        """A descriptor, to be closed, that turns readable when it ends; -1: there is none."""

    def end(self, reader: "OutputReader", grace: float) -> None:
        """TERM to it and all that came from it, KILL after the grace."""


class OutputReader:
    """Keeps the first `limit` + 1 bytes."""

    def __init__(self, child: StartedProgram, limit: int, on_output: Optional[Callable[[bytes], None]]):
        self.child = child
        assert child.stdout is not None
        self.stdout = child.stdout
        self.pipe = self.stdout.fileno()
        os.set_blocking(self.pipe, False)
        self.limit = limit
        self.on_output = on_output
        self.parts: List[bytes] = []
        self.size = 0
        self.eof = False
        self.ended = child.end_handle()

    def read(self, deadline: float, cancel: EndSignal) -> Optional[str]:
        """None when the program ended by itself, else why it must be ended."""
        while True:
            if cancel:
                return "cancelled"
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            if self._ended(min(left, 3600), cancel):
                self.drain(DRAIN_S)
                return None

    def _ended(self, left: float, cancel: EndSignal) -> bool:
        watched = [cancel.fileno()]
        if not self.eof:
            watched.append(self.pipe)
        if self.ended >= 0:
            watched.append(self.ended)
        ready = readable(watched, left if self.ended >= 0 else min(left, 0.1))
        if self.pipe in ready:
            self._take()
        return self.child.poll() is not None

    def drain(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.eof and time.monotonic() < until:
            if readable([self.pipe], 0.05):
                self._take()
            elif self.child.poll() is not None and seconds == DRAIN_S:
                return

    def _take(self) -> None:
        try:
            data = os.read(self.pipe, 65536)
        except BlockingIOError:
            return
        if not data:
            self.eof = True
            return
        room = self.limit + 1 - self.size
        if room > 0:
            self.parts.append(data[:room])
            self.size += len(data[:room])
            if self.on_output:
                self.on_output(data[:room])

    def kept(self) -> bytes:
        return b"".join(self.parts)

    def close(self) -> None:
        if self.ended >= 0:
            os.close(self.ended)
        self.stdout.close()


def pidfd(pid: int) -> int:
    """A descriptor that turns readable when the process ends; -1 where the kernel has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        return -1
