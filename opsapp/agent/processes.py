"""Running one program: its own process group, bounded output, an end that is certain (time-out, cancel, stop).

A program waits at a gate until its process group is known to whoever must be able to stop it, should we be killed. It
carries a mark in its environment, by which what has left the group is found.
Must not: read a string through a shell; know commands or results.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import threading
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional

from opsapp.wire.frames import OUTPUT_LIMIT

from .outputreader import DRAIN_S, OutputReader, StartedProgram, pidfd
from .proc import DEAD, boot_id, cgroup_of, pids, start_time, stat_of
from .sealed import Handles, numbers, sealed

TERM_GRACE_S = 2.0
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
RUN = "AGENT_RUN_MARK"  # the mark's name; its value is of one program and all that come from it
STRAYS_S = 1.0  # so long what left the group is looked for, and killed
# The gate: a shell that turns into the program on a word from us. If we are killed before, it reads the end of the pipe
# and leaves, with nothing begun. Words only: the program comes as arguments.
_GATE = ("/bin/sh", "-c", 'read -r go || exit 125; exec "$@" </dev/null', "opsapp-gate")


class Ran(NamedTuple):
    status: str  # done, failed, timeout, cancelled
    exit_code: Optional[int]
    output: bytes  # at most OUTPUT_LIMIT + 1 bytes: the last one says that there was more
    reason: Optional[str] = None


def done(text: str, before: bytes = b"") -> Ran:
    return Ran("done", 0, before + (text + "\n").encode("utf-8", "replace"))


def failed(reason: str, output: bytes = b"") -> Ran:
    return Ran("failed", None, output, reason)


class ProcessGroup(NamedTuple):
    """A process group as one agent leaves it to the next."""

    pid: int  # of its leader
    started: int
    boot: str


class Cancel:
    """A cancel signal that any thread may give."""

    def __init__(self) -> None:
        self.why = "cancelled"
        self._event = threading.Event()
        self._read, self._write = os.pipe()

    def __call__(self, why: str = "cancelled") -> None:
        if not self._event.is_set():
            self.why = why
            self._event.set()
            os.write(self._write, b"x")

    def __bool__(self) -> bool:
        return self._event.is_set()

    def fileno(self) -> int:
        return self._read

    def wait(self, seconds: float) -> bool:
        return self._event.wait(seconds)

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


class RunOptions(NamedTuple):
    cwd: str = "/"
    umask: int = 0o022
    grace: float = TERM_GRACE_S  # between TERM and KILL
    with_errors: bool = True  # what it writes to standard error is output too; else it is thrown away
    mark: str = ""  # the value of its mark, for whoever ends by it what the program leaves; else one is made
    descriptors: Optional[Dict[str, str]] = None  # variable -> what the program reads from the descriptor it names
    start: Optional["Starter"] = None  # who starts it instead of us, and ends with it all that comes from it


OnStart = Optional[Callable[[ProcessGroup], None]]
Starter = Callable[[List[str], Dict[str, str], RunOptions, Handles, OnStart], StartedProgram]


def environment(more: Optional[Dict[str, str]] = None) -> Dict[str, str]:
    """The environment for programs, without any of the agent's own secrets."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPSAPP_")}
    kept.setdefault("PATH", PATH)
    if not {"/sbin", "/usr/sbin"} & set(kept["PATH"].split(":")):
        kept["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
    kept.setdefault("LANG", "C.UTF-8")
    kept.update(more or {})
    return kept


def run(
    argv: List[str],
    timeout: float,
    cancel: Cancel,
    *,
    env: Optional[Dict[str, str]] = None,
    on_start: Optional[Callable[[ProcessGroup], None]] = None,
    on_output: Optional[Callable[[bytes], None]] = None,
    limit: int = OUTPUT_LIMIT,
    manner: Optional[RunOptions] = None,
) -> Ran:
    """Run a program to its end; it and all that came from it are ended at the time-out or when cancelled."""
    deadline = time.monotonic() + timeout
    manner = manner or RunOptions(grace=TERM_GRACE_S)
    if cancel:
        return Ran("cancelled", None, b"", "cancelled before it started")
    mark = manner.mark or new_mark()
    try:
        told = environment({**(env or {}), RUN: mark})
        find(argv[0], told)
        with sealed(manner.descriptors or {}) as handles:
            child = (manner.start or _start)(argv, told, manner, handles, on_start)
    except (OSError, ValueError) as error:
        return failed(f"cannot start {argv[0]}: {getattr(error, 'strerror', None) or error}")
    reader = OutputReader(child, limit, on_output)
    try:
        why = reader.read(deadline, cancel)
        if why:
            child.end(reader, manner.grace)
            return Ran(why, None, reader.kept(), "ran into its time-out" if why == "timeout" else cancel.why)
        code = child.wait()
        if code < 0:
            return Ran("failed", code, reader.kept(), f"ended by signal {-code}")
        if code:
            return Ran("failed", code, reader.kept(), f"exit code {code}")
        return Ran("done", 0, reader.kept())
    finally:
        reader.close()


class _Program(subprocess.Popen):
    """A child of this process, in a group of its own."""

    mark = ""

    def end_handle(self) -> int:
        return pidfd(self.pid)

    def end(self, reader: OutputReader, grace: float) -> None:
        end_group(self, reader, grace, self.mark)


def _start(
    argv: List[str], env: Dict[str, str], manner: RunOptions, handles: Handles, on_start: OnStart
) -> StartedProgram:
    """Start a program, let go once `on_start` has returned; whatever that raises, nothing has begun."""
    child = _Program(
        [*_GATE, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if manner.with_errors else subprocess.DEVNULL,
        cwd=manner.cwd,
        env={**env, **numbers(handles)},
        pass_fds=tuple(handles.values()),
        start_new_session=True,
        umask=manner.umask,
    )
    child.mark = env[RUN]
    gate, out = child.stdin, child.stdout
    assert gate is not None
    assert out is not None
    try:
        if on_start:
            on_start(ProcessGroup(child.pid, start_time(child.pid), boot_id()))
        with contextlib.suppress(BrokenPipeError):  # ended from outside already: its exit code tells
            os.write(gate.fileno(), b"go\n")
    except BaseException:
        gate.close()
        out.close()
        child.wait()
        raise
    gate.close()
    return child


def find(program: str, env: Dict[str, str]) -> None:
    """OSError when there is no such program: the gate and a keeper could tell it in the output only."""
    near = [""] if os.path.dirname(program) else os.get_exec_path(env)
    places = [os.path.join("/", place, program) for place in near]
    installed = [place for place in places if os.path.isfile(place)]
    if not installed:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    if not any(os.access(place, os.X_OK) for place in installed):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def end_group(
    child: "subprocess.Popen[bytes]",
    reader: Optional[OutputReader] = None,
    grace: Optional[float] = None,
    mark: str = "",
) -> None:
    """Send TERM to the whole group and to what has left it, and KILL after a grace."""
    signal_group(child.pid, signal.SIGTERM)
    strays = _signal_strays(mark, signal.SIGTERM)
    until = time.monotonic() + (TERM_GRACE_S if grace is None else grace)
    while time.monotonic() < until and (child.poll() is None or group_alive(child.pid) or _any_carries(strays, mark)):
        if reader and not reader.eof:
            reader.drain(0.05)
        else:
            time.sleep(0.02)
    signal_group(child.pid, signal.SIGKILL)
    child.wait()
    end_strays(mark)
    if reader:
        reader.drain(DRAIN_S)


def new_mark() -> str:
    return os.urandom(16).hex()


def end_strays(mark: str) -> None:
    """End what has left a program's group. It tries more than once, for one of them may just have started another, or
    may just turn into another program: then the kernel shows nothing of it, the mark neither."""
    until = time.monotonic() + STRAYS_S
    while (_signal_strays(mark, signal.SIGKILL) or _any_between_programs()) and time.monotonic() < until:
        time.sleep(0.02)


def _signal_strays(mark: str, number: int) -> List[int]:
    """What was given a cgroup of its own (a unit, a container) has another manager."""
    if not mark:
        return []
    ours = cgroup_of("self")
    strays = [pid for pid in _carriers(RUN, mark) if cgroup_of(pid) == ours]
    return [pid for pid in strays if _signal(pid, number)]


def _any_between_programs() -> bool:
    """Whether one of our cgroup is blank: at its exec a process has neither arguments nor an environment."""
    ours = cgroup_of("self")
    return any(_is_blank(pid) and cgroup_of(pid) == ours for pid in pids())


def _is_blank(pid: str) -> bool:
    """Not so a thread of the kernel or what is dead and not buried: they have no program at all."""
    try:
        if any(_content(pid, name).strip(b"\0") for name in ("cmdline", "environ")):
            return False
        os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return False
    return True


def _content(pid: str, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()


def _any_carries(pids: List[int], mark: str) -> bool:
    return any(_carries(pid, RUN, mark) for pid in pids)


def signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def group_alive(group: int) -> bool:
    """The kernel counts those, too, who are dead and not buried yet."""
    return signal_group(group, 0) and any(_is_member(pid, group) for pid in pids())


def _is_member(pid: str, group: int) -> bool:
    words = stat_of(pid)
    return bool(words) and int(words[2]) == group and words[0] not in DEAD


def end_orphans(group: ProcessGroup) -> bool:
    """End the processes of a former agent; False when nothing is left."""
    leader = start_time(group.pid)
    if not group.pid or not group.started or (leader and leader != group.started) or not group_alive(group.pid):
        return False
    if group.boot != boot_id():  # the number is somebody else's since the host was restarted
        return False
    signal_group(group.pid, signal.SIGTERM)
    until = time.monotonic() + TERM_GRACE_S
    while time.monotonic() < until and group_alive(group.pid):
        time.sleep(0.05)
    signal_group(group.pid, signal.SIGKILL)
    return True


def end_marked(name: str, value: str) -> int:
    """End the processes that carry this mark; how many there were."""
    return sum(_signal(pid, signal.SIGKILL) for pid in _carriers(name, value))


def _carriers(name: str, value: str) -> Iterator[int]:
    return (int(pid) for pid in pids() if _carries(int(pid), name, value))


def _carries(pid: int, name: str, value: str) -> bool:
    """Only root can read the environment of another user's process. What we cannot read is none of ours."""
    try:
        return f"{name}={value}".encode() in _content(str(pid), "environ").split(b"\0")
    except OSError:
        return False


def _signal(pid: int, number: int) -> bool:
    """False when it is gone meanwhile, or has become another user's."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
