"""Programs and directories that a killed process left on this machine. A program carries in its environment who
started it: whoever looks knows it by that. Must not: know commands."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Dict, Iterable, Iterator, Tuple

from .proc import DEAD, pids, stat_of

RUN, OWNER = "OPSAPP_RUN_ID", "OPSAPP_RUN_SERVER"
DIRECTORY = "opsapp-run"  # .owner.run-random


def marks(run: str) -> Dict[str, str]:
    return {RUN: run, OWNER: this_process()}


def make_directory(run: str) -> str:
    return tempfile.mkdtemp(prefix=f"{DIRECTORY}.{this_process()}.{run}-")


def end_stragglers(run: str) -> int:
    """End all processes that still carry the marks of this run of ours, in whichever group; how many there were.
    Another service on this machine may have a run of the same name: after a restore of its backup, for one."""
    ours = marks(run).items()
    return _kill(pid for pid, carried in _marked() if ours <= carried.items())


def clear_leftovers() -> int:
    """End the programs of processes that are gone from this machine, and remove their directories; how many ended."""
    ended = _kill(pid for pid, marks in _marked() if _is_gone(marks.get(OWNER, "")))
    for path in Path(tempfile.gettempdir()).glob(f"{DIRECTORY}.*-*"):
        if _is_gone(path.name.split(".")[1]):
            shutil.rmtree(path, ignore_errors=True)
    return ended


def this_process() -> str:
    """This process among all that ever ran on this machine: namespace of numbers, number, beginning."""
    return f"{_namespace()}_{os.getpid()}_{_beginning(os.getpid())}"


def _is_gone(owner: str) -> bool:
    """False as well when it cannot be known: it counts by other numbers than we do."""
    namespace, _, rest = owner.partition("_")
    pid, _, beginning = rest.partition("_")
    return namespace == _namespace() and pid.isdigit() and _beginning(int(pid)) != beginning


def _namespace() -> str:
    return "".join(filter(str.isdigit, os.readlink("/proc/self/ns/pid")))


def _beginning(pid: int) -> str:
    """When the process began, in ticks since the boot; empty when there is none, or only its corpse."""
    words = stat_of(pid)
    return "" if not words or words[0] in DEAD else words[19]


def _kill(pids: Iterable[int]) -> int:
    killed = 0
    for pid in pids:
        if pid == os.getpid():
            continue
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except (ProcessLookupError, PermissionError):  # gone meanwhile, or it has become another user's
            continue
    return killed


def _marked() -> Iterator[Tuple[int, Dict[str, str]]]:
    """The marked processes, as far as we may look."""
    for pid in pids():
        try:
            words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        pairs = (word.decode("ascii", "replace").partition("=") for word in words if word.startswith(b"OPSAPP_RUN_"))
        marks = {name: value for name, _, value in pairs}
        if marks:
            yield int(pid), marks
