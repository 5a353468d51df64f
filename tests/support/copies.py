"""Servers that begin as copies of one process, the nursery, which has imported what a server imports when it starts.

A start is half a second of imports, the same each time, and the system tests start a thousand servers. Copied is an
interpreter that has imported; all else a server does by itself: it reads its arguments, environment and configuration,
makes its application, opens its store, serves and ends. The first servers of a test process begin as the program does,
and so do those of modules that say so (`own_program` below), that run other code, or that are measured.
Must not: know what a test looks at.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SERVE = [sys.executable, "-m", "opsapp.cli", "serve"]
PROGRAMS_FIRST = 2  # who runs one test waits for no nursery
MAY_DIFFER = ("OPSAPP_", "PYTEST_")  # how names begin that nothing reads while it is imported
LONGEST = 1 << 16

own_program = False  # whether all begin as the program does: for tests that look at the process itself
_lock = threading.Lock()
_begun = 0
_nursery: Nursery | None = None


def begin(command: list[str], environment: dict[str, str], directory: Path, log: int) -> Copy | None:
    """A server as a copy; None when it has to begin as the program does."""
    global _begun, _nursery
    if own_program or command[: len(SERVE)] != SERVE or not _is_usual(environment):
        return None
    with _lock:
        _begun += 1
        if _begun <= PROGRAMS_FIRST:
            return None
        if _nursery is None:
            _nursery = Nursery(_common(environment))
            atexit.register(_nursery.close)
        if _nursery.environment != _common(environment):
            return None
        return _nursery.begin(command[len(SERVE) :], environment, directory, log)


def _common(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith(MAY_DIFFER)}


def _is_usual(environment: dict[str, str]) -> bool:
    """Its code is that of this checkout, and nothing measures it."""
    return environment.get("PYTHONPATH") == str(ROOT) and "COVERAGE_PROCESS_CONFIG" not in environment


class Nursery:
    """The process that is copied: tests/support/nursery.py. What is asked of it is asked by one thread at a time."""

    def __init__(self, environment: dict[str, str]):
        self.environment = environment
        self._lock = threading.Lock()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.nursery", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                env=environment,
                pass_fds=[theirs.fileno()],
            )

    def begin(self, words: list[str], environment: dict[str, str], directory: Path, log: int) -> Copy:
        about = {"words": words, "environment": environment, "directory": str(directory), "umask": _umask()}
        return Copy(self, self.ask(about, [log]))

    def ask(self, question: dict[str, Any], handles: list[int] | None = None) -> int:
        with self._lock:
            socket.send_fds(self._ours, [json.dumps(question).encode()], handles or [])
            told = self._ours.recv(LONGEST)
        if not told:
            raise AssertionError(f"the nursery ended with {self._process.wait()}")
        return int(told)

    def close(self) -> None:
        self._ours.close()
        self._process.wait()


class Copy:
    """A child of the nursery, with what tests ask of a `subprocess.Popen`. Like one it is there, if only as a zombie,
    until somebody has asked how it ended."""

    def __init__(self, nursery: Nursery, pid: int):
        self.pid = pid
        self.returncode: int | None = None
        self._nursery = nursery
        self._handle = os.pidfd_open(pid)
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        with self._lock:
            if self.returncode is None and self._has_ended(0):
                self.returncode = self._nursery.ask({"reap": self.pid})
                os.close(self._handle)
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(SERVE, timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def _has_ended(self, timeout: float | None) -> bool:
        watched = select.poll()
        watched.register(self._handle, select.POLLIN)
        return bool(watched.poll(None if timeout is None else timeout * 1000))

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _umask() -> int:
    """What a child would inherit. It can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
