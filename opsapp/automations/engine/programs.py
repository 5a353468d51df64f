"""One program on this machine: its own process group and directory, a clean environment, limits, a certain end.

What a killed server leaves of it is known by its marks, whoever looks: its server's process is gone.
On the hub; what blocks (starting it, its directory) is done in a lane. Must not: know a run's record or the store.
"""

from __future__ import annotations

import codecs
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gevent
from gevent.event import Event
from gevent.os import nb_read

log = logging.getLogger(__name__)

MARK, SERVER = "OPSAPP_RUN_ID", "OPSAPP_RUN_SERVER"
# Limits are set by the shell that becomes the program: no code of ours may run between fork and exec, beside threads.
LIMITED = 'ulimit -c 0; {limits} exec "$@"'
DRAIN_S = 0.3
PIECE = 65536
DIRECTORY = "opsapp-run"  # .server.run-random


class Program(NamedTuple):
    """What to start. `script` becomes a file, whose path is put at the end of `argv`."""

    argv: Sequence[str]
    script: str | None
    env: Mapping[str, str]
    run_id: str
    timeout: float
    grace: float
    limits: Mapping[str, Any]


class Ended(NamedTuple):
    status: str
    exit_code: int | None
    reason: str | None


class Running:
    """A program under way. `stop(why)` ends it from any greenlet."""

    def __init__(self, node: Any, program: Program, on_output: Callable[[str], None]):
        self._node, self._program = node, program
        self._on_output = on_output
        self._changed = Event()
        self._why: str | None = None
        self._child: Any = None
        self._directory = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def stop(self, why: str) -> None:
        self._why = self._why or why
        self._changed.set()

    def run(self, started: Callable[[], None]) -> Ended:
        """To its end. What the program does cannot make this raise."""
        lane = self._node.lane("programs", 2)
        if self._why:
            return Ended("cancelled", None, self._why)
        try:
            lane.run(self._start)
        except OSError as problem:
            lane.run(self._clear)
            return Ended("failed", None, f"cannot be started: {problem.strerror or problem}")
        try:
            started()
            return self._watch()
        finally:
            self._child.stdout.close()
            lane.run(self._clear)

    def _start(self) -> None:
        program = self._program
        self._directory = tempfile.mkdtemp(prefix=f"{DIRECTORY}.{this_server()}.{program.run_id}-")
        argv = list(program.argv)
        if program.script is not None:
            path = os.path.join(self._directory, "script")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(program.script)
            argv.append(path)
        own = {"HOME": self._directory, "TMPDIR": self._directory, MARK: program.run_id, SERVER: this_server()}
        self._child = subprocess.Popen(
            ["/bin/sh", "-c", LIMITED.format(limits=_limits(program.limits)), "opsapp-run", *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._directory,
            env={**program.env, **own},
            start_new_session=True,
            umask=0o077,
        )

    def _clear(self) -> None:
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _watch(self) -> Ended:
        """Until it ends by itself, or its time is up, or somebody stops it."""
        pid, pipe = self._child.pid, self._child.stdout.fileno()
        os.set_blocking(pipe, False)
        reader = gevent.spawn(self._read, pipe)
        watcher = gevent.spawn(self._await_end, pid)
        deadline = time.monotonic() + self._program.timeout
        try:
            while self._child.poll() is None and self._why is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._why = "timeout"
                else:
                    self._changed.wait(left)
                    self._changed.clear()
            by_itself = self._child.poll() is not None
            end_group(self._child, self._program.grace if not by_itself else 1.0)
            reader.join(DRAIN_S)
        finally:
            gevent.killall([reader, watcher])
            self._say(self._decoder.decode(b"", True))
        if not by_itself:
            self._node.lane("programs", 2).run(end_stragglers, {self._program.run_id})
            return self._ended_by_us()
        return _outcome(self._child.returncode)

    def _ended_by_us(self) -> Ended:
        if self._why == "timeout":
            return Ended("timeout", None, f"not finished within {self._program.timeout:g} s")
        return Ended("cancelled", None, self._why)

    def _read(self, pipe: int) -> None:
        while data := nb_read(pipe, PIECE):
            self._say(self._decoder.decode(data))

    def _say(self, text: str) -> None:
        if text:
            self._on_output(text)

    def _await_end(self, pid: int) -> None:
        """Sets `_changed` when the process has ended, without reaping it."""
        try:
            descriptor = os.pidfd_open(pid)
        except (AttributeError, OSError):
            while self._child.poll() is None:
                gevent.sleep(0.02)
            self._changed.set()
            return
        try:
            hub = gevent.get_hub()
            watcher = hub.loop.io(descriptor, 1)
            try:
                hub.wait(watcher)
            finally:
                watcher.close()
            self._changed.set()
        finally:
            os.close(descriptor)


def _outcome(code: int) -> Ended:
    if code == 0:
        return Ended("done", 0, None)
    return Ended("failed", code, f"ended by signal {-code}" if code < 0 else f"exit code {code}")


def _limits(limits: Mapping[str, Any]) -> str:
    """Numbers only, from the configuration."""
    flags = {"open_files": ("-n", 1), "memory_mb": ("-v", 1024), "file_mb": ("-f", 2048), "cpu_s": ("-t", 1)}
    wanted = [(flag, int(limits[name] * factor)) for name, (flag, factor) in flags.items() if limits.get(name)]
    return " ".join(f"ulimit {flag} {value};" for flag, value in wanted)


def _signal_group(pid: int, number: int) -> bool:
    """Whether there is still anybody in the group."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def end_group(child: Any, grace: float) -> None:
    """TERM to all of its group, KILL to whoever is left after `grace` seconds. On the hub."""
    if child.poll() is not None and not _signal_group(child.pid, 0):
        return
    _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        if child.poll() is not None and not _signal_group(child.pid, 0):
            return
        gevent.sleep(0.01)
    _signal_group(child.pid, signal.SIGKILL)
    while child.poll() is None:
        gevent.sleep(0.005)


def end_stragglers(run_ids: set[str]) -> int:
    """KILL whatever still carries the mark of one of these runs, in whichever group it is now; how many there were."""
    return _kill(pid for pid, marks in _marked() if marks.get(MARK) in run_ids)


def clear_after_the_dead() -> int:
    """End the programs of servers that are gone from this machine, and remove their directories; how many ended.

    Not by what the store says: whoever was killed between telling it and doing this would leave them for ever."""
    ended = _kill(pid for pid, marks in _marked() if _is_gone(marks.get(SERVER, "")))
    for path in Path(tempfile.gettempdir()).glob(f"{DIRECTORY}.*-*"):
        if _is_gone(path.name.split(".")[1]):
            shutil.rmtree(path, ignore_errors=True)
    return ended


def this_server() -> str:
    """This process among all that ever ran on this machine: namespace of numbers, number, beginning."""
    return f"{_namespace()}_{os.getpid()}_{_beginning(os.getpid())}"


def _is_gone(server: str) -> bool:
    """False as well when it cannot be known: it counts by other numbers than we do."""
    namespace, _, rest = server.partition("_")
    pid, _, beginning = rest.partition("_")
    return namespace == _namespace() and pid.isdigit() and _beginning(int(pid)) != beginning


def _namespace() -> str:
    return "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))


def _beginning(pid: int) -> str:
    """When the kernel started it, in ticks since the boot; empty when there is none, or only its corpse."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return "" if words[0] in (b"Z", b"X") else words[19].decode()


def _kill(pids: Iterable[int]) -> int:
    found = 0
    for pid in pids:
        if pid == os.getpid():
            continue
        try:
            os.kill(pid, signal.SIGKILL)
            found += 1
        except ProcessLookupError:
            continue
    return found


def _marked() -> Iterator[tuple[int, dict[str, str]]]:
    """Every process that carries marks of ours, as far as we may look."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        pairs = (word.decode("ascii", "replace").partition("=") for word in words if word.startswith(b"OPSAPP_RUN_"))
        marks = {name: value for name, _, value in pairs}
        if marks:
            yield int(entry.name), marks
