"""How the executor is started: as which user, with which code, in which directory.

Under another user it gets the agent program as a file in memory, because that user may be unable to read this
installation. In native threads: it makes directories and processes. Must not: talk to the executor.
"""

from __future__ import annotations

import logging
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opsapp.agents.config import ExecutorSettings
from opsapp.agents.zipapp import agent_file
from opsapp.lib.problems import Unavailable

log = logging.getLogger(__name__)

# -I -S: nothing of the environment, of the working directory or of other packages has a say in what is imported.
BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from opsapp.agent.embedded import main; sys.exit(main())"
OF_THE_SYSTEM = ("/usr/local/bin/python3", "/usr/bin/python3")
KEPT = ("LANG", "LC_ALL", "TZ")


class NoExecutor(Unavailable):
    """The executor cannot be started, so nothing runs on the service's own machine."""

    code = "no_executor"


class ExecutorUser(NamedTuple):
    """The executor's user; `shared`: the service's own. Decided once, when the process starts."""

    name: str
    uid: int
    shared: bool
    socket: str | None = None  # where systemd starts it for us


class Launched(NamedTuple):
    sock: socket.socket
    child: subprocess.Popen[bytes] | None


def whose(settings: ExecutorSettings) -> ExecutorUser:
    own = os.geteuid()
    name = settings.user
    if name is None:
        return ExecutorUser(user_name(own), own, True)
    uid = _account(name).pw_uid
    return ExecutorUser(name, uid, uid == own, settings.socket)


def _account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise NoExecutor(f"There is no user {name} on this machine (executor.user).") from None


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def place_of(data: str | None, node: str) -> Path:
    """The executor's directory beside the data, or one for this process alone where there is no data."""
    return Path(data) / "executor" / node if data else Path(tempfile.mkdtemp(prefix="opsapp-executor."))


def launch(who: ExecutorUser, place: Path, settings: ExecutorSettings) -> Launched:
    if who.socket:
        return Launched(_connected(who.socket), None)
    ours, theirs = socket.socketpair()
    handles = [theirs.fileno()]
    account = None if who.shared else _account(who.name)
    code = str(Path(__file__).resolve().parents[3])
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_foreign(place, who.uid)
        if account is not None:
            os.chown(place, account.pw_uid, account.pw_gid)
            handles.append(_code_in_memory())
            code = f"/proc/self/fd/{handles[-1]}"
        child = _started(
            _interpreters(who, settings.python),
            ["-I", "-S", "-c", BOOT, code, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=place,  # before the user is another one, who may not come here
            env=_environment(who),
            pass_fds=handles,
            start_new_session=True,
            user=account and account.pw_uid,
            group=account and account.pw_gid,
            extra_groups=None if account is None else [],
        )
    except (OSError, subprocess.SubprocessError) as problem:
        ours.close()
        raise NoExecutor(f"The executor cannot be started as {who.name}: {problem}.") from None
    finally:
        theirs.close()
        for handle in handles[1:]:
            os.close(handle)
    return Launched(ours, child)


def remove_foreign(place: Path, uid: int) -> None:
    """After a copy by root the executor's user cannot write what does not belong to it. Such entries are removed, not
    given to that user: one may be a second name of somebody else's file. Nothing is lost, because no command begins
    twice."""
    if not os.access(place, os.W_OK | os.X_OK):
        raise NoExecutor(f"The executor's directory {place} cannot be written: it must belong to {user_name(uid)}.")
    for path in place.iterdir():
        if path.lstat().st_uid == uid:
            continue
        log.warning("removed, because it does not belong to %s: %s", user_name(uid), path)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _interpreters(who: ExecutorUser, given: str | None) -> Sequence[str]:
    """That of the service may be in a home directory that another user cannot enter; the agent's code runs on any."""
    if given or who.shared:
        return [given or sys.executable]
    return [sys.executable, *OF_THE_SYSTEM]


def _started(interpreters: Sequence[str], words: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
    """Start the executor with the first interpreter that its user may run."""
    *others, last = interpreters
    for interpreter in others:
        try:
            return subprocess.Popen([interpreter, *words], **how)
        except (PermissionError, FileNotFoundError) as problem:
            log.info("the executor cannot be started by %s: %s", interpreter, problem.strerror)
    return subprocess.Popen([last, *words], **how)


def _connected(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(path)
    except OSError as problem:
        made.close()
        raise NoExecutor(f"The executor's socket {path} cannot be reached: {problem.strerror}.") from None
    return made


def _code_in_memory() -> int:
    handle = os.memfd_create("opsapp-agent")
    os.write(handle, agent_file().data)
    return handle


def _environment(who: ExecutorUser) -> dict[str, str]:
    """Nothing of the service's own but the language and the time zone."""
    known = {name: os.environ[name] for name in KEPT if name in os.environ}
    home = _home(who.uid)
    return {"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": home, "USER": who.name, "LOGNAME": who.name, **known}


def _home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return "/"


def remove(place: Path, data: str | None) -> None:
    """Remove the directory if it was for this process alone."""
    if not data:
        shutil.rmtree(place, ignore_errors=True)
