"""Programs with a keeper, as the executor sees them: asked of the nursery, watched and ended over a socket each.

Must not: be used before `open_nursery`, which a process calls while it has one thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from typing import IO, Dict, List, NamedTuple, NoReturn, Optional

from opsapp.wire.fields import loads
from opsapp.wire.handles import readable

from . import domains, keeper
from .outputreader import DRAIN_S, OutputReader
from .proc import boot_id
from .processes import RUN, OnStart, ProcessGroup, RunOptions, end_strays, signal_group
from .sealed import Handles

PATIENCE_S = 10.0  # for the first word of a keeper, and beyond its own times for its last one
GONE = "the nursery of keepers is gone"


class Manner(NamedTuple):
    apart: bool  # in a domain of its own
    no_new_privs: bool


class Nursery:
    """The process that starts programs; `why`: why programs cannot be kept apart here."""

    def __init__(self, sock: socket.socket, way: Optional[domains.Confinement], why: str):
        self.why = why
        self.is_gone = False
        self._sock = sock
        self.way = way
        self._lock = threading.Lock()

    def start(
        self,
        manner: Manner,
        argv: List[str],
        env: Dict[str, str],
        options: RunOptions,
        handles: Handles,
        on_start: OnStart,
    ) -> "KeptProgram":
        """Start a program; its keeper lets it go once `on_start` has returned."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._ask(theirs)
            read, write = os.pipe()
            try:
                asked = keeper.request(
                    argv,
                    env,
                    cwd=options.cwd,
                    umask=options.umask,
                    with_errors=options.with_errors,
                    way=self.way if manner.apart else None,
                    no_new_privs=manner.no_new_privs,
                    descriptors=list(handles),
                )
                socket.send_fds(ours, [asked[: keeper.LENGTH.size]], [write, *handles.values()])
                ours.sendall(asked[keeper.LENGTH.size :])
            except BaseException:
                os.close(read)
                raise
            finally:
                os.close(write)
            program = KeptProgram(ours, os.fdopen(read, "rb", 0), env[RUN])
        except BaseException:
            ours.close()
            raise
        program.begin(on_start)
        return program

    def _ask(self, theirs: socket.socket) -> None:
        try:
            with self._lock:
                socket.send_fds(self._sock, [b"k"], [theirs.fileno()])
        except OSError:
            self.is_gone = True
            raise OSError(0, GONE) from None


class KeptProgram:
    def __init__(self, control: socket.socket, stdout: IO[bytes], mark: str):
        self.stdout: Optional[IO[bytes]] = stdout
        self.pid = 0
        self._control = control
        self._mark = mark
        self._code: Optional[int] = None
        self._over = False  # its keeper has ended

    def begin(self, on_start: OnStart) -> None:
        """The keeper ends it, with nothing begun, when this raises."""
        try:
            word = self._word(PATIENCE_S)
            if word is None or "pid" not in word:
                raise OSError(0, (word or {}).get("error") or "its keeper has not answered")
            self.pid = int(word["pid"])
            if on_start:
                on_start(ProcessGroup(self.pid, int(word["started"]), boot_id()))
            self._tell(keeper.GO)
        except BaseException:
            self._close()
            raise

    def poll(self) -> Optional[int]:
        self._listen(0)
        return -signal.SIGKILL if self._over and self._code is None else self._code

    def wait(self) -> int:
        """Its keeper ends once all is gone that came from the program."""
        self._listen(keeper.REST_S + keeper.KILLED_S + PATIENCE_S, to_the_end=True)
        return self._last()

    def end_handle(self) -> int:
        return os.dup(self._control.fileno())

    def end(self, reader: OutputReader, grace: float) -> None:
        self._tell(keeper.TERM)
        until = time.monotonic() + grace
        while not self._over and time.monotonic() < until:
            if not reader.eof:
                reader.drain(0.05)
            self._listen(0.02, to_the_end=True)
        self._tell(keeper.KILL)
        self._listen(keeper.KILLED_S + PATIENCE_S, to_the_end=True)
        self._last()
        reader.drain(DRAIN_S)

    def _last(self) -> int:
        """A keeper that was killed has ended nothing: what carries the program's mark is ended by it."""
        if self._code is None or not self._over:
            signal_group(self.pid, signal.SIGKILL)
            end_strays(self._mark)
        self._over = True
        self._close()
        return -signal.SIGKILL if self._code is None else self._code

    def _listen(self, seconds: float, *, to_the_end: bool = False) -> None:
        """Listen until the keeper has said the exit code, or has ended."""
        until = time.monotonic() + seconds
        while not self._over and (to_the_end or self._code is None):
            if not readable([self._control.fileno()], until - time.monotonic()):
                return
            word = self._word(PATIENCE_S)
            if word is None:
                self._over = True
            elif "code" in word:
                self._code = int(word["code"])

    def _word(self, patience: float) -> Optional[dict]:
        """The keeper's next message; None when it has ended, or says nothing."""
        self._control.settimeout(patience)
        try:
            (length,) = keeper.LENGTH.unpack(keeper.exactly(self._control, keeper.LENGTH.size))
            return loads(keeper.exactly(self._control, length))
        except OSError:
            return None

    def _tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):  # it has ended
            self._control.sendall(word)

    def _close(self) -> None:
        self._control.close()


def open_nursery() -> Nursery:
    """Call it while the process has one thread, and before it opens what keepers must not have."""
    way, why = domains.way_in()
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        _be_nursery(theirs)
    theirs.close()
    return Nursery(ours, way, why)


def _be_nursery(sock: socket.socket) -> NoReturn:
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):  # 2 is for what goes wrong
            os.dup2(nothing, number)
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) != sock.fileno():
                with contextlib.suppress(OSError):  # the one that listed them
                    os.close(int(name))
        keeper.nursery(sock)
    finally:
        os._exit(1)
