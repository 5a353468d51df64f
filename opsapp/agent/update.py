"""Self-update: a new agent file pinned by its hash, proven before it takes over, and undone when it does not connect.

Steps: download beside the program and compare the hash → let the new file tell its version → let it reach the server
once (`--check`), while the old one still runs → restart into the new file where it lies. It takes the old one's place
by rename once it has connected within `update_trial_s`; until then whatever starts the agent starts the old one, which
ends the trial. The old file watches from outside (guard.py).
update.json says what is under way, so that a kill at any point ends in one of the two versions.
Must not: run a file whose hash was not asked for.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import subprocess
import sys
import threading
import zipfile
from typing import Callable, List, Optional

from opsapp.wire.handles import readable
from opsapp.wire.version import VERSION

from .config import AgentConfig
from .disk import sync_directory, write_whole
from .executor import CommandAnswer, CommandExecutor, CommandTask, refused
from .guard import NOTE, RETURNED, TRIAL, WATCHING, read_note, settling, write_note
from .processes import Ran, done, failed, run
from .transport import TransportError, parse_url, request

log = logging.getLogger("update")
FILE_MOST = 16 * 2**20
TELL_S = 20.0
IDLE_S = 60.0
PACKAGED = "packaged"  # a file beside the program


def program() -> Optional[str]:
    """The agent's file; None when this is a source tree, which cannot be replaced as one file."""
    path = os.path.realpath(sys.argv[0])
    return path if zipfile.is_zipfile(path) else None


def packaged(path: str) -> bool:
    """The system's packages would not know what replaced their file, and put theirs back."""
    return os.path.exists(os.path.join(os.path.dirname(path), PACKAGED))


def own_sha256() -> str:
    path = program()
    if path is None:
        return ""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def restart_argv(argv: List[str], path: Optional[str] = None) -> List[str]:
    flags = (["-I"] if sys.flags.isolated else []) + (["-S"] if sys.flags.no_site else [])
    return [sys.executable, *flags, path or os.path.realpath(sys.argv[0]), *argv]


class Updater:
    def __init__(self, config: AgentConfig, argv: List[str], restart: Callable[[str], None]):
        self.executor: Optional[CommandExecutor] = None
        self._config = config
        self._argv = argv
        self._restart = restart
        self._note = os.path.join(config.state_dir, NOTE)
        self._one = threading.Lock()

    # ---- the command
    def __call__(self, task: CommandTask) -> CommandAnswer:
        path = program()
        if path is None:
            return refused("this agent does not run from a single file")
        if packaged(path):
            return refused("packaged: install the new opsapp-agent package on this host")
        if not self._one.acquire(blocking=False):
            return refused("busy: another update is under way")
        try:
            if self.pending() is not None:
                return refused("busy: another update is on trial")
            return self._update(task, path)
        finally:
            self._one.release()

    def _update(self, task: CommandTask, path: str) -> CommandAnswer:
        fresh = fresh_of(path)
        try:
            self._fetch(fresh, task.params.sha256)
            why = self._prove(task, fresh)
            assert self.executor is not None
            if not why and not self.executor.hold(task.id, IDLE_S):
                why = "busy: other commands did not end in time"
            if not why:
                self._try(
                    {
                        "state": TRIAL,
                        "command_id": task.id,
                        "from": VERSION,
                        "to": task.params.version,
                        "sha256": task.params.sha256,
                        "place": path,
                    }
                )
                return CommandAnswer(None)
        except (OSError, TransportError) as error:
            why = str(error)
        _discard(fresh)
        return refused(why)

    def _fetch(self, fresh: str, sha256: str) -> None:
        answer, _ = request(
            parse_url(self._config.server, self._config.ca_file),
            "GET",
            "/api/agents/agent.pyz",
            self._config.key,
            most=FILE_MOST,
        )
        if answer.status != 200:
            raise TransportError(f"the server answered {answer.status} for the agent file")
        if hashlib.sha256(answer.body).hexdigest() != sha256:
            raise TransportError("bad_hash: the agent file is not the one that was asked for")
        write_whole(fresh, answer.body, 0o755)

    def _prove(self, task: CommandTask, fresh: str) -> Optional[str]:
        """Why the new file must not take over; None when it told the right version and reached the server."""
        start = restart_argv(self._argv, fresh)
        told = run([*start, "--version"], TELL_S, task.cancel, limit=4096)
        if told.output.decode("utf-8", "replace").split()[-1:] != [task.params.version]:
            return f"the new file does not say it is version {task.params.version}"
        env = {
            "OPSAPP_SERVER": self._config.server,
            "OPSAPP_AGENT_ID": self._config.agent_id,
            "OPSAPP_AGENT_KEY": self._config.key,
        }  # flags win over it, and some agents have nothing else
        reached = run(
            [*start, "--check"],
            max(TELL_S, self._config.update_trial_s),
            task.cancel,
            env=env,
            limit=65536,
            on_start=task.on_start,
        )
        if reached.status == "done":
            return None
        lines = reached.output.decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), reached.reason)
        return f"the new version did not reach the server ({reached.status}): {last}"

    def _try(self, note: dict) -> None:
        """Try the new file; OSError, and nothing is under way, when it cannot be watched."""
        self._write(note)
        try:
            self._post_guard()
        except OSError:
            os.unlink(self._note)  # the guard leaves, if there is one
            raise
        self._restart(fresh_of(note["place"]))

    def _post_guard(self) -> None:
        """Start the guard; OSError unless it says that it watches."""
        start = restart_argv(self._argv)
        env = {**os.environ, "OPSAPP_AGENT_KEY": self._config.key}
        guard = subprocess.Popen(
            [*start, "--guard", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=env,
            start_new_session=True,
        )
        assert guard.stdout is not None
        with guard.stdout as stream:
            if not readable([stream.fileno()], TELL_S) or os.read(stream.fileno(), 64) != WATCHING:
                guard.kill()
                guard.wait()
                raise OSError("the guard of the update does not start")

    # ---- after a restart
    def pending(self) -> Optional[dict]:
        return read_note(self._config.state_dir)

    def left(self) -> None:
        """Note that it was stopped on purpose in its trial: no failure, and the next start judges again."""
        with settling(self._config.state_dir):
            note = self.pending()
            if note is not None and note["state"] == TRIAL:
                self._write({**note, "left": True})

    def judge(self, note: dict, connected: Callable[[float], bool]) -> None:
        """The new version takes the place, or leaves it to the old one."""
        came = self._on_trial(note) and note["state"] == TRIAL and connected(self._config.update_trial_s)
        with settling(self._config.state_dir):
            latest = self.pending()
            if latest is not None:
                self._settle(latest, came)

    def _on_trial(self, note: dict) -> bool:
        return program() == fresh_of(note["place"])

    def _settle(self, note: dict, came: bool) -> None:
        if self._on_trial(note):
            if came and note["state"] == TRIAL and self._take_place(note):
                self._end(note, done(f"now version {VERSION}"))
            else:
                log.error("not connected in time: back to version %s", note["from"])
                self._write({**note, "state": RETURNED})
                self._restart(note["place"])
        elif own_sha256() == note["sha256"]:  # killed between taking the place and telling it
            self._end(note, done(f"now version {VERSION}"))
        elif note["state"] == TRIAL and note.get("left"):
            self._resume(note)
        else:
            self._give_up(note)

    def _take_place(self, note: dict) -> bool:
        try:
            os.rename(fresh_of(note["place"]), note["place"])
            sync_directory(os.path.dirname(note["place"]))
        except OSError as error:
            log.error("the new version cannot take the old one's place: %s", error)
            return False
        sys.argv[0] = note["place"]  # what a later restart starts
        return True

    def _resume(self, note: dict) -> None:
        """The agent was stopped on purpose in the middle of the trial, and the old version was started again."""
        try:
            with open(fresh_of(note["place"]), "rb") as file:
                whole = hashlib.sha256(file.read()).hexdigest() == note["sha256"]
            if whole:
                self._try({name: value for name, value in note.items() if name != "left"})
                return
        except OSError as error:
            log.error("the trial of version %s cannot go on: %s", note["to"], error)
        self._give_up(note)

    def _give_up(self, note: dict) -> None:
        self._end(note, failed(f"version {note['to']} did not connect; back to {note['from']}"))

    def _end(self, note: dict, ran: Ran) -> None:
        assert self.executor is not None
        self.executor.settle(note["command_id"], ran)
        _discard(fresh_of(note["place"]))
        _discard(self._note)

    def _write(self, note: dict) -> None:
        write_note(self._config.state_dir, note)


def fresh_of(path: str) -> str:
    return f"{path}.new"


def _discard(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
