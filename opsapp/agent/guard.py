"""The guard of an update: the old version, as a process of its own, watching the new one until it is settled.

The new version judges itself (update.py), unless it crashes or hangs before that. If the trial is not settled in time,
or the process is gone, the guard ends what is left of it, and starts the old one unless a service manager does.
Must not: act on a process that is not the one it was given.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import signal
import time
from typing import Dict, Iterator, List, Optional

from opsapp.wire.fields import WireError, dumps, loads

from .disk import write_whole
from .proc import DEAD, start_time, stat_of

log = logging.getLogger("guard")
TRIAL, RETURNED = "trial", "returned"
NOTE = "update.json"
WATCHING = b"watching\n"
LOOK_S = 0.2
END_S = 10.0
MANAGER_S = 10.0  # a service manager starts the agent again within that


@contextlib.contextmanager
def settling(state_dir: str) -> Iterator[None]:
    """Only one process at a time decides what becomes of an update."""
    handle = os.open(os.path.join(state_dir, "update.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_note(state_dir: str) -> Optional[dict]:
    try:
        with open(os.path.join(state_dir, NOTE), "rb") as file:
            return loads(file.read())
    except FileNotFoundError:
        return None
    except WireError as error:
        log.error("%s cannot be read: %s", NOTE, error)
        return None


def write_note(state_dir: str, note: dict) -> None:
    write_whole(os.path.join(state_dir, NOTE), dumps(note))


def watch(state_dir: str, pid: int, trial_s: float, start: List[str], env: Dict[str, str]) -> int:
    """Returns when the update is settled, by the new version or here. `start` starts the old one."""
    began = start_time(pid)
    os.write(1, WATCHING)
    os.close(1)
    deadline = time.monotonic() + 1.25 * trial_s + 2.0  # the new version's own judgement comes first
    while time.monotonic() < deadline and lives(pid, began):
        note = read_note(state_dir)
        if note is None or note["state"] == RETURNED:
            return 0
        time.sleep(LOOK_S)
    if not end_trial(state_dir):
        return 0
    _end(pid, began, min(END_S, trial_s))
    if _somebody_runs(state_dir, min(MANAGER_S, trial_s)):
        return 0
    log.error("nothing starts the old version again: starting it now")
    os.execve(start[0], start, env)
    return 1


def lives(pid: int, began: int) -> bool:
    """Whether this very process lives; one that ended and is not yet reaped does not."""
    words = stat_of(pid)
    return bool(words) and words[0] not in DEAD and int(words[19]) == began


def end_trial(state_dir: str) -> bool:
    """Call it failed, unless the update was settled meanwhile, or the agent was stopped on purpose."""
    with settling(state_dir):
        note = read_note(state_dir)
        if note is None or note["state"] == RETURNED or note.get("left"):
            return False
        log.error("version %s did not get through its trial: back to %s", note["to"], note["from"])
        write_note(state_dir, {**note, "state": RETURNED})
        return True


def _end(pid: int, began: int, seconds: float) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not lives(pid, began):
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not lives(pid, began):
                return
            time.sleep(LOOK_S)


def _somebody_runs(state_dir: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        handle = os.open(os.path.join(state_dir, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        time.sleep(LOOK_S)
    return False
