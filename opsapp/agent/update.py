"""Self-update: a new agent file pinned by its hash, proven before it takes over, and undone when it does not connect.

Steps: download and compare the hash → let the new file tell its version → let it reach the server once (`--check`),
while the old one still runs → keep the old file, put the new one in place by rename → restart into it. The new one
then has `update_trial_s` to connect; if it does not, it puts the old file back and restarts into that.
The old file, run as the guard, watches from outside (guard.py): a new version that crashes or hangs before it can judge
itself is undone by it.
What is under way is written in update.json, so that a kill at any point ends in one of the two versions.
Must not: run a file whose hash was not asked for.
"""
from __future__ import annotations

import hashlib
import logging
import os
import select
import shutil
import subprocess
import sys
import zipfile
from typing import Callable, List, Optional

from opsapp.wire.version import VERSION

from .config import Config
from .disk import sync_directory, write_whole
from .executor import Answer, Executor, Task
from .guard import NOTE, RETURNED, TRIAL, WATCHING, read_note, settling, write_note
from .processes import Ran, run
from .transport import TransportError, parse_url, request

log = logging.getLogger("update")
FILE_MOST = 16 * 2**20
TELL_S = 20.0
IDLE_S = 60.0


def program() -> Optional[str]:
    """The zipapp that runs; None when this is a source tree, which cannot be replaced as one file."""
    path = os.path.realpath(sys.argv[0])
    return path if zipfile.is_zipfile(path) else None


def own_sha256() -> str:
    path = program()
    if path is None:
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def restart_argv(argv: List[str]) -> List[str]:
    flags = (["-I"] if sys.flags.isolated else []) + (["-S"] if sys.flags.no_site else [])
    return [sys.executable, *flags, os.path.realpath(sys.argv[0]), *argv]


class Updater:
    def __init__(self, config: Config, argv: List[str], restart: Callable[[], None]):
        self.executor: Optional[Executor] = None
        self._config = config
        self._argv = argv
        self._restart = restart
        self._note = os.path.join(config.state_dir, NOTE)

    # ---- the command
    def __call__(self, task: Task) -> Answer:
        path = program()
        if path is None:
            return _failed("this agent does not run from a single file")
        fresh = f"{path}.new"
        try:
            self._fetch(fresh, task.params["sha256"])
            why = self._prove(task, fresh)
            if why:
                return _failed(why)
            assert self.executor is not None
            if not self.executor.hold(task.id, IDLE_S):
                return _failed("busy: other commands did not end in time")
            self._swap(task, path, fresh)
        except (OSError, TransportError) as error:
            return _failed(str(error))
        finally:
            if os.path.exists(fresh):
                os.unlink(fresh)
        self._restart()
        return Answer(None)

    def _fetch(self, fresh: str, sha256: str) -> None:
        answer, _ = request(parse_url(self._config.server, self._config.ca_file), "GET", "/api/agents/agent.pyz",
                            self._config.key, most=FILE_MOST)
        if answer.status != 200:
            raise TransportError(f"the server answered {answer.status} for the agent file")
        if hashlib.sha256(answer.body).hexdigest() != sha256:
            raise TransportError("bad_hash: the agent file is not the one that was asked for")
        write_whole(fresh, answer.body, 0o755)

    def _prove(self, task: Task, fresh: str) -> Optional[str]:
        """Why the new file must not take over; None when it told the right version and reached the server."""
        start = restart_argv(self._argv)
        start[start.index(os.path.realpath(sys.argv[0]))] = fresh
        told = run([*start, "--version"], TELL_S, task.cancel, limit=4096)
        if told.output.decode("utf-8", "replace").split()[-1:] != [task.params["version"]]:
            return f"the new file does not say it is version {task.params['version']}"
        env = {"OPSAPP_AGENT_KEY": self._config.key}
        reached = run([*start, "--check"], max(TELL_S, self._config.update_trial_s), task.cancel, env=env, limit=65536,
                      on_start=task.on_start)
        return None if reached.status == "done" else f"the new version did not reach the server ({reached.status})"

    def _swap(self, task: Task, path: str, fresh: str) -> None:
        shutil.copy2(path, f"{path}.old")
        self._write({"state": TRIAL, "command_id": task.id, "from": VERSION, "to": task.params["version"],
                     "sha256": task.params["sha256"]})
        try:
            self._post_guard(path)
            os.rename(fresh, path)
        except OSError:
            os.unlink(self._note)    # nothing is under way any more: the guard leaves
            os.unlink(f"{path}.old")
            raise
        sync_directory(os.path.dirname(path))

    def _post_guard(self, path: str) -> None:
        """The old file, watching over us from outside. OSError unless it says that it does."""
        start = restart_argv(self._argv)
        start[start.index(os.path.realpath(sys.argv[0]))] = f"{path}.old"
        env = {**os.environ, "OPSAPP_AGENT_KEY": self._config.key}
        guard = subprocess.Popen([*start, "--guard", str(os.getpid())], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, env=env, start_new_session=True)
        assert guard.stdout is not None
        with guard.stdout as said:
            ready, _, _ = select.select([said], [], [], TELL_S)
            if not ready or os.read(said.fileno(), 64) != WATCHING:
                guard.kill()
                guard.wait()
                raise OSError("the guard of the update does not start")

    # ---- after a restart
    def pending(self) -> Optional[dict]:
        return read_note(self._config.state_dir)

    def left(self) -> None:
        """The agent is stopped on purpose in its trial: no failure, and the next start judges again."""
        with settling(self._config.state_dir):
            note = self.pending()
            if note is not None and note["state"] == TRIAL:
                self._write({**note, "left": True})

    def judge(self, note: dict, connected: Callable[[float], bool]) -> None:
        """The trial's end: keep the new version, or go back to the old one."""
        runs_new = own_sha256() == note["sha256"]
        came = runs_new and note["state"] == TRIAL and connected(self._config.update_trial_s)
        with settling(self._config.state_dir):
            latest = self.pending()
            if latest is not None:
                self._settle(latest, runs_new, came)

    def _settle(self, note: dict, runs_new: bool, came: bool) -> None:
        in_place = own_sha256() == note["sha256"]
        if note["state"] == RETURNED and in_place:
            self._go_back(note)    # killed on the way back
        elif note["state"] == RETURNED and runs_new:
            self._restart()    # the guard was faster: the old file is back already
        elif note["state"] == RETURNED:
            self._end(note, Ran("failed", None, b"", f"version {note['to']} did not connect; back to {note['from']}"))
        elif not runs_new:
            self._end(note, Ran("failed", None, b"", "interrupted before the new file was in place"))
        elif came:
            self._end(note, Ran("done", 0, f"now version {VERSION}\n".encode()))
        else:
            self._go_back(note)

    def _go_back(self, note: dict) -> None:
        path = program()
        if path is None or not os.path.exists(f"{path}.old"):
            self._end(note, Ran("failed", None, b"", "the new version did not connect, and there is no old one"))
            return
        log.error("not connected in time: back to version %s", note["from"])
        self._write({**note, "state": RETURNED})
        os.rename(f"{path}.old", path)
        sync_directory(os.path.dirname(path))
        self._restart()

    def _end(self, note: dict, ran: Ran) -> None:
        assert self.executor is not None
        self.executor.settle(note["command_id"], ran)
        path = program()
        if path and os.path.exists(f"{path}.old"):
            os.unlink(f"{path}.old")
        os.unlink(self._note)

    def _write(self, note: dict) -> None:
        write_note(self._config.state_dir, note)


def _failed(reason: str) -> Answer:
    return Answer(Ran("failed", None, b"", reason))
