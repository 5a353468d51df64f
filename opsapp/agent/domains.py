"""What the kernel keeps apart: Landlock domains, a view of /proc, no new privileges, orphans that stay ours.

A process in a domain signals, and looks into, itself and what came from it, nobody else. Before Linux 6.12 a domain
keeps looks only, not signals. Root may read the environment of any process that it sees, so root gets a /proc that
shows its domain only. The numbers of processes stay those of the machine.
Must not: know runs, or be used by a process with more than one thread: a domain is of the thread that asked for it.
"""

from __future__ import annotations

import functools
import os
import struct
import subprocess
from typing import Any, NamedTuple, NoReturn, Optional, Tuple

try:
    import ctypes
except ImportError:  # a minimal Python of a system has none
    ctypes = None  # type: ignore[assignment]

SIGNALS_SINCE = 6  # the version of Landlock that keeps signals in a domain: Linux 6.12
LOOKS_SINCE = 2  # the version whose domains take nothing else away from a user who is not root: Linux 5.19
_SCOPE_SIGNAL = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, of one number everywhere
_VERSION = 1
_PATH_BENEATH, _REFER = 1, 1 << 13  # a rule for all below a directory, the right to move files to another one
_SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 4, 36, 38  # of prctl
_NEW_MOUNTS = 0x00020000  # of unshare
_NOSUID_NODEV_NOEXEC, _PRIVATE = 0x2 | 0x4 | 0x8, 1 << 18  # of mount
_HIDDEN = b"hidepid=4"  # what may not be looked into is not shown, whoever asks


class Confinement(NamedTuple):
    own_proc: bool
    no_new_privs: bool
    signals: bool = True  # they are kept in it, too


# In this order: what takes the least away from programs first.
WAYS = (Confinement(False, False), Confinement(True, False), Confinement(False, True), Confinement(False, True, False))


def missing(*, signals: bool = True) -> Optional[str]:
    """Why this kernel has no domains that keep looks and, where they are asked for, signals; None when it has."""
    try:
        version = _call("syscall", _CREATE_RULESET, None, 0, _VERSION)
    except OSError as error:
        return f"Landlock: {error.strerror}"
    if version >= SIGNALS_SINCE:
        return None
    if signals:
        return "it needs Linux 6.12 or newer"
    return None if version >= LOOKS_SINCE else "it needs Linux 5.19 or newer"


def way_in() -> Tuple[Optional[Confinement], str]:
    """How programs can be put into domains that hold, tried with processes that end at once, or None; and why not all
    is held."""
    why = "the kernel does not let this user"
    with subprocess.Popen(["/bin/sh", "-c", "read -r end"], stdin=subprocess.PIPE) as other:
        for way in WAYS:
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(read)
                _try(way, other.pid, write)
            os.close(write)
            with os.fdopen(read, "rb") as said:
                why = said.read().decode("utf-8", "replace") or why
            if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
                return way, "" if way.signals else missing() or ""
    return None, why


def _try(way: Confinement, other: int, write: int) -> NoReturn:
    """Runs in a process of its own and ends it. It writes whether it reached another process from inside."""
    code = 1
    try:
        # Root gets none that keeps looks alone: before Linux 6.12 no program could mount anything in there.
        why = missing(signals=way.signals or os.geteuid() == 0)
        if why is None:
            confine(way)
            reaches = (way.signals and can_signal(other)) or _looks_into(other)
            why = "a process inside reaches others" if reaches else ""
        code = 1 if why else 0
        os.write(write, why.encode())
    except OSError as error:
        os.write(write, str(error.strerror).encode())
    finally:
        os._exit(code)


def _looks_into(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            file.read()
    except OSError:
        return False
    return True


def can_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def confine(way: Confinement) -> None:
    """This process, and all that it starts, into a new domain."""
    if way.no_new_privs:
        refuse_new_privileges()
    if way.own_proc:
        _call("unshare", _NEW_MOUNTS)
        # Alone: what a program mounts elsewhere is still seen by the machine where it shares its mounts.
        _call("mount", b"none", b"/proc", None, _PRIVATE, None)
        _call("mount", b"proc", b"/proc", b"proc", _NOSUID_NODEV_NOEXEC, _HIDDEN)
    enter(way)


def enter(way: Confinement) -> None:
    """A domain within the one that this process is in."""
    rules = struct.pack("=QQQ", 0, 0, _SCOPE_SIGNAL) if way.signals else struct.pack("=Q", _REFER)
    handle = _call("syscall", _CREATE_RULESET, rules, len(rules), 0)
    try:
        if not way.signals:
            _allow_moves(handle)
        _call("syscall", _RESTRICT_SELF, handle, 0)
    finally:
        os.close(handle)


def _allow_moves(handle: int) -> None:
    """An older kernel wants a right that a domain takes away: it is given back for all files."""
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    try:
        _call("syscall", _ADD_RULE, handle, _PATH_BENEATH, struct.pack("=Qi", _REFER, root), 0)
    finally:
        os.close(root)


def refuse_new_privileges() -> None:
    _call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def adopt_orphans() -> None:
    """Whatever comes from this process and loses its parent becomes its child, in whichever session it is."""
    _call("prctl", _SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def close_to_others() -> None:
    """Close this process's memory, environment and descriptors to others until it executes something else."""
    _call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)


@functools.lru_cache(maxsize=None)  # once, before the first fork: each keeper would load it again
def _library() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> int:
    if ctypes is None:
        raise OSError(0, "this Python has no ctypes")
    whole = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    answer = getattr(_library(), name)(*whole)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(answer)
