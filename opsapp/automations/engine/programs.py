"""One program on this machine: its own process group and directory, a clean environment, limits, a certain end.

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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gevent
from gevent.event import Event
from gevent.os import nb_read

log = logging.getLogger(__name__)

MARK = "OPSAPP_RUN_ID"
# Limits are set by the shell that becomes the program: no code of ours may run between fork and exec, beside threads.
LIMITED = 'ulimit -c 0; {limits} exec "$@"'
DRAIN_S = 0.3
PIECE = 65536
DIRECTORY = "opsapp-run-"


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
        self._directory = tempfile.mkdtemp(prefix=f"{DIRECTORY}{program.run_id}-")
        argv = list(program.argv)
        if program.script is not None:
            path = os.path.join(self._directory, "script")
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(program.script)
            argv.append(path)
        env = {**program.env, "HOME": self._directory, "TMPDIR": self._directory, MARK: program.run_id}
        self._child = subprocess.Popen(
            ["/bin/sh", "-c", LIMITED.format(limits=_limits(program.limits)), "opsapp-run", *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._directory,
            env=env,
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
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and _mark_of(entry) in run_ids and int(entry.name) != os.getpid():
            try:
                os.kill(int(entry.name), signal.SIGKILL)
                found += 1
            except ProcessLookupError:
                continue
    return found


def _mark_of(entry: Path) -> str | None:
    try:
        environment = (entry / "environ").read_bytes()
    except OSError:
        return None
    wanted = MARK.encode() + b"="
    for line in environment.split(b"\0"):
        if line.startswith(wanted):
            return line[len(wanted) :].decode("ascii", "replace")
    return None


def clear_directories(run_ids: set[str]) -> None:
    """The directories of runs that a killed server left behind."""
    for run_id in run_ids:
        for path in Path(tempfile.gettempdir()).glob(f"{DIRECTORY}{run_id}-*"):
            shutil.rmtree(path, ignore_errors=True)
