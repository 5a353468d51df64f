"""What the kernel keeps apart: Landlock domains, a view of /proc, no new privileges, orphans that stay ours.

A process in a domain signals, and looks into, itself and what came from it, nobody else; what it starts is in it for
ever. Root may read the environment of any process that it sees, so root gets a /proc that shows its domain only. The
numbers of processes stay those of the machine.
Must not: know runs, or be used by a process with more than one thread: a domain is of the thread that asked for it.
"""

from __future__ import annotations

import os
import struct
import subprocess
from typing import Any, NamedTuple, NoReturn, Optional, Tuple

SIGNALS_SINCE = 6  # the version of Landlock that keeps signals in a domain: Linux 6.12
_SCOPE_SIGNAL = 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # system calls, of one number everywhere
_VERSION = 1
_SET_DUMPABLE, _SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 4, 36, 38  # of prctl
_NEW_MOUNTS = 0x00020000  # of unshare
_NOSUID_NODEV_NOEXEC, _PRIVATE = 0x2 | 0x4 | 0x8, 1 << 18  # of mount
_HIDDEN = b"hidepid=4"  # what may not be looked into is not shown, whoever asks


class Confinement(NamedTuple):
    """What this process needs in order to enter a domain."""

    own_proc: bool
    no_new_privs: bool


# In this order: what takes the least away from programs first.
WAYS = (Confinement(False, False), Confinement(True, False), Confinement(False, True))


def missing() -> Optional[str]:
    """Why this kernel has no domains that keep signals; None when it has."""
    try:
        version = _call("syscall", _CREATE_RULESET, None, 0, _VERSION)
    except OSError as error:
        return f"Landlock: {error.strerror}"
    return None if version >= SIGNALS_SINCE else "it needs Linux 6.12 or newer"


def way_in() -> Tuple[Optional[Confinement], str]:
    """How programs of this process can be put into domains that hold: tried with processes that end at once. None, and
    why, when they cannot."""
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
                return way, ""
    return None, why


def _try(way: Confinement, other: int, write: int) -> NoReturn:
    """In a process of its own, which ends here: whether it reaches another one from inside."""
    code = 1
    try:
        why = missing()
        if why is None:
            confine(way)
            why = "a process inside reaches others" if _reaches(other) else ""
        code = 1 if why else 0
        os.write(write, why.encode())
    except OSError as error:
        os.write(write, str(error.strerror).encode())
    finally:
        os._exit(code)


def _reaches(pid: int) -> bool:
    if can_signal(pid):
        return True
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
    enter()


def enter() -> None:
    """A domain within the one that this process is in."""
    rules = struct.pack("=QQQ", 0, 0, _SCOPE_SIGNAL)
    handle = _call("syscall", _CREATE_RULESET, rules, len(rules), 0)
    try:
        _call("syscall", _RESTRICT_SELF, handle, 0)
    finally:
        os.close(handle)


def refuse_new_privileges() -> None:
    _call("prctl", _SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def adopt_orphans() -> None:
    """Whatever comes from this process and loses its parent becomes its child, in whichever session it is."""
    _call("prctl", _SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def close_to_others() -> None:
    """The memory, the environment and the descriptors of this process, until it executes something else."""
    _call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)


def _call(name: str, *arguments: Any) -> int:
    try:
        import ctypes  # a minimal Python of a system has none
    except ImportError:
        raise OSError(0, "this Python has no ctypes") from None
    whole = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    answer = getattr(ctypes.CDLL(None, use_errno=True), name)(*whole)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(answer)
