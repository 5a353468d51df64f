"""The keeper of one program: a small process that is the parent of all that comes from it, and ends all of it.

Whatever loses its parent becomes the keeper's child, in whichever session. It ends the rest when the program has
ended, when it is told to, and when its executor is gone. Keepers are forked from a nursery, a process of one thread
that the executor made before it had threads.
Must not: import anything late (the nursery has closed the file of its code); start a thread.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import struct
import time
from typing import Dict, List, NoReturn, Optional, Tuple

from opsapp.wire.commands import DESCRIPTORS
from opsapp.wire.handles import readable

from . import domains
from .proc import pids, start_time, stat_of
from .sealed import close, numbers

GO, TERM, KILL = b"g", b"t", b"k"  # what a keeper is told
LENGTH = struct.Struct(">I")
REST_S = 2.0  # what a program left has so long between TERM and KILL
KILLED_S = 2.0  # so long the end of what was killed is waited for: another user's, or a disk's, may never end
LOOK_S = 0.02
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def nursery(sock: socket.socket) -> NoReturn:
    """Forks a keeper for each descriptor that comes over `sock`, until its other end is closed."""
    gc.freeze()  # what was made before is shared with all keepers
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them
    while True:
        _word, handles = _received(sock, 1)
        if not handles:
            os._exit(0)
        try:
            if os.fork() == 0:
                sock.close()
                _keep(socket.socket(fileno=handles[0]))
        except BlockingIOError:
            pass  # no room for a process: whoever asked meets the end of the connection
        os.close(handles[0])


def _keep(control: socket.socket) -> NoReturn:
    code = 1
    try:
        Keeper(control).run()
        code = 0
    except OSError as error:
        with contextlib.suppress(OSError):
            say(control, error=error.strerror or str(error))
    finally:
        os._exit(code)


class Keeper:
    def __init__(self, control: socket.socket):
        self.control = control
        self.pid = 0  # of the program
        self.code: Optional[int] = None
        self.apart = False
        self._read, self._write = os.pipe()

    def run(self) -> None:
        head, handles = _received(self.control, LENGTH.size, 1 + DESCRIPTORS)
        if not handles:
            return  # whoever asked is gone
        asked = json.loads(exactly(self.control, LENGTH.unpack(head)[0]))
        os.setsid()
        domains.adopt_orphans()
        if asked["way"] is not None:
            way = domains.Confinement(*asked["way"])
            domains.confine(way)
            self.apart = way.signals
            if way.signals and (domains.can_signal(1) or domains.can_signal(os.getppid())):
                raise OSError(0, "it could not be kept apart from others")
        self._watch_children()
        gate, opened = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(opened)
            _become(asked, self.control, handles, gate)
        close([*handles, gate])
        self._attend(opened)

    def _watch_children(self) -> None:
        os.set_blocking(self._write, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def _attend(self, opened: int) -> None:
        """Returns when the program has ended by itself, or everything was ended."""
        while self.code is None:
            ready = readable([self.control.fileno(), self._read])
            if self._read in ready:
                os.read(self._read, 512)
                self._bury()
            if self.control.fileno() in ready:
                word = self.control.recv(1)
                if word == GO:
                    with contextlib.suppress(BrokenPipeError):  # it was killed before it began: its code tells
                        os.write(opened, GO)
                elif word == TERM:
                    self._signal(signal.SIGTERM)
                else:
                    break  # also when the executor is gone
        if self.code is not None and self._bury():
            self._signal(signal.SIGTERM)
            self._wait(REST_S)
        self._kill()

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._bury() and time.monotonic() < until:
            if readable([self.control.fileno()], LOOK_S) and self.control.recv(1) != TERM:
                return

    def _kill(self) -> None:
        """More than once: without a domain one of them may just have started another."""
        until = time.monotonic() + KILLED_S
        while self._bury() and time.monotonic() < until:
            self._signal(signal.SIGKILL)
            time.sleep(LOOK_S / 10)

    def _bury(self) -> bool:
        """Whether anything is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.pid:
                self.code = os.waitstatus_to_exitcode(status)
                with contextlib.suppress(OSError):  # the executor is gone
                    say(self.control, code=self.code)

    def _signal(self, number: int) -> None:
        """Signal the program; in a domain "everybody" is all that is in it, and nobody starts another one meanwhile;
        asked again each time, for outside of a domain it would be the whole machine."""
        if self.apart and not domains.can_signal(1) and not domains.can_signal(os.getppid()):
            with contextlib.suppress(OSError):
                os.kill(-1, number)
            return
        for pid in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, number)


def _become(asked: dict, control: socket.socket, handles: List[int], gate: int) -> NoReturn:
    """The program, once the gate opens. The first descriptor is for its output, the others are its own."""
    out, own = handles[0], dict(zip(asked["descriptors"], handles[1:], strict=True))
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle, number in ((nothing, 0), (out, 1), (out if asked["with_errors"] else nothing, 2)):
            os.dup2(handle, number)
        signal.set_wakeup_fd(-1)
        for number in _RESTORED:
            signal.signal(number, signal.SIG_DFL)
        os.umask(asked["umask"])
        os.chdir(asked["cwd"])
        if asked["no_new_privs"]:
            domains.refuse_new_privileges()
        if asked["way"] is not None:
            domains.enter(domains.Confinement(*asked["way"]))  # one of its own, from where it does not reach its keeper
        say(control, pid=os.getpid(), started=start_time(os.getpid()))
        if os.read(gate, 1) == GO:
            for handle in own.values():
                os.set_inheritable(handle, True)
            os.execvpe(asked["argv"][0], asked["argv"], {**asked["env"], **numbers(own)})
    except (OSError, ValueError) as error:
        with contextlib.suppress(OSError):
            say(control, error=getattr(error, "strerror", None) or str(error))
    finally:
        os._exit(125)


def descendants(pid: int) -> List[int]:
    """The processes below this one, as far as the chain of parents holds: below a keeper it always does."""
    children: Dict[int, List[int]] = {}
    for name in pids():
        words = stat_of(name)
        children.setdefault(int(words[1]) if words else 0, []).append(int(name))
    known: List[int] = list(children.get(pid, ()))
    for member in known:  # grows as it goes
        known += children.get(member, ())
    return known


def _received(sock: socket.socket, size: int, most: int = 1) -> Tuple[bytes, List[int]]:
    """The bytes received, with the descriptors that came with them, which no program inherits."""
    data, handles, _flags, _address = socket.recv_fds(sock, size, most)
    for handle in handles:
        os.set_inheritable(handle, False)  # no flag of recv_fds says it: Python does not hand it on
    return data, handles


def say(control: socket.socket, **fields: object) -> None:
    data = json.dumps(fields).encode()
    control.sendall(LENGTH.pack(len(data)) + data)


def exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise OSError(0, "the connection was closed")
        data += piece
    return bytes(data)


def request(argv: List[str], env: Dict[str, str], **more: object) -> bytes:
    """The request's bytes; the descriptor of the output goes with the first of them."""
    data = json.dumps({"argv": argv, "env": env, **more}).encode()
    return LENGTH.pack(len(data)) + data
