"""The journal: what makes a command run at most once and its result never get lost, whatever is killed when.

A command passes accepted → started → finished → thanked. Each step is on the disk before what follows from it happens:
its id before it is acknowledged, "started" before a process is made, the result before it is sent. A result has a
file of its own under results/ until the server has thanked for it; ids stay known for KEEP_S.
Must not: run or send anything.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from typing import Dict, List, Optional

from opsapp.wire.commands import CommandSent, check_result
from opsapp.wire.fields import WireError, dumps, loads
from opsapp.wire.records import made, plain
from opsapp.wire.reports import CommandResult, HeldCommand

from .disk import LineFile, sync_directory, write_whole
from .processes import ProcessGroup

log = logging.getLogger("journal")
KEEP_S = 7 * 86400
KEEP_MOST = 10_000
KEEP_STORES = 50
COMPACT_BYTES = 2 * 2**20
ACCEPTED, STARTED, FINISHED, THANKED = "accepted", "started", "finished", "thanked"
OPEN_MOST = 200
NO_GROUP = ProcessGroup(0, 0, "")


class CommandEntry:
    __slots__ = ("at", "command", "group", "state")

    def __init__(self, state: str, at: float, command: Optional[CommandSent] = None):
        self.state = state
        self.at = at
        self.command = command
        self.group = NO_GROUP


class CommandJournal:
    def __init__(self, directory: str, now: float):
        self.results = os.path.join(directory, "results")
        os.makedirs(self.results, mode=0o700, exist_ok=True)
        self._lock = threading.RLock()
        self._entries: Dict[str, CommandEntry] = {}
        self._tokens: Dict[str, int] = {}  # the newest fencing token of each service, the latest service last
        self._lines = LineFile(os.path.join(directory, "journal.jsonl"))
        for line in self._lines:
            self._replay(line)
        self._meet_results(now)
        self.compact(now)

    # ---- reading
    def held(self) -> List[HeldCommand]:
        with self._lock:
            return [
                HeldCommand(name, "finished" if entry.state == FINISHED else "running")
                for name, entry in self._entries.items()
                if entry.state != THANKED
            ]

    def unthanked(self) -> List[str]:
        with self._lock:
            return [name for name, entry in self._entries.items() if entry.state == FINISHED]

    def open(self) -> Dict[str, CommandEntry]:
        with self._lock:
            return {name: entry for name, entry in self._entries.items() if entry.state in (ACCEPTED, STARTED)}

    def state(self, name: str) -> Optional[str]:
        with self._lock:
            entry = self._entries.get(name)
            return entry.state if entry else None

    def result(self, name: str) -> Optional[CommandResult]:
        """The result of a command; None once the server has acknowledged it."""
        try:
            with open(self._path(name), "rb") as file:
                return made(CommandResult, check_result(loads(file.read())))
        except FileNotFoundError:
            return None

    # ---- the four steps
    def accept(self, command: CommandSent, now: float) -> bool:
        """True when the command is new, and now on the disk."""
        name = command.command_id
        with self._lock:
            if name in self._entries:
                return False
            self._write(did=ACCEPTED, id=name, at=now, command=plain(command))
            self._entries[name] = CommandEntry(ACCEPTED, now, command)
            return True

    def start(self, name: str, now: float) -> None:
        with self._lock:
            self._write(did=STARTED, id=name, at=now)
            self._entries[name].state = STARTED

    def process(self, name: str, group: ProcessGroup) -> None:
        """Note the process group so that a later agent can stop what was left of it. Not synced: it is of use within
        the same boot only, and the kernel holds what was written."""
        with self._lock:
            self._write(sync=False, **_told(name, group))
            self._entries[name].group = group

    def finish(self, name: str, result: CommandResult, now: float) -> None:
        write_whole(self._path(name), dumps(plain(result)))
        with self._lock:
            self._write(sync=False, did=FINISHED, id=name, at=now)
            entry = self._entries[name]
            entry.state, entry.at, entry.command = FINISHED, now, None

    def thank(self, name: str) -> None:
        with self._lock:
            entry = self._entries.get(name)
            if entry is None or entry.state != FINISHED:
                return
            try:
                self._write(sync=False, did=THANKED, id=name)
            except OSError as error:
                log.warning("%s is told again, because it cannot be noted that the server has it: %s", name, error)
                return
            entry.state = THANKED
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path(name))

    def admit(self, token: int, store: str = "") -> bool:
        """Whether a fencing token is not older than the newest seen of the same service; a newer one is remembered on
        the disk. `store` is the service's identity; older services have none."""
        with self._lock:
            if token > self._tokens.get(store, -1):
                self._write(did="token", token=token, store=store)
                self._note_token(store, token)
            return token == self._tokens[store]

    def newest(self, store: str = "") -> int:
        with self._lock:
            return self._tokens.get(store, 0)

    def full(self) -> bool:
        with self._lock:
            return sum(entry.state != THANKED for entry in self._entries.values()) >= OPEN_MOST

    def compact(self, now: float) -> None:
        with self._lock:
            self._forget(now)
            if self._lines.size < COMPACT_BYTES:
                return
            lines = [dumps({"did": "token", "token": token, "store": store}) for store, token in self._tokens.items()]
            for name, entry in self._entries.items():
                command = entry.command and plain(entry.command)
                lines.append(dumps({"did": ACCEPTED, "id": name, "at": entry.at, "command": command}))
                if entry.state == STARTED:
                    lines.append(dumps({"did": STARTED, "id": name, "at": entry.at}))
                    lines.append(dumps(_told(name, entry.group)))
                elif entry.state != ACCEPTED:
                    lines.append(dumps({"did": entry.state, "id": name, "at": entry.at}))
            self._lines.replace(lines)

    def close(self) -> None:
        with self._lock:
            self._lines.close()

    # ---- inside
    def _path(self, name: str) -> str:
        return os.path.join(self.results, f"r-{name}.json")

    def _write(self, *, sync: bool = True, **record: object) -> None:
        self._lines.append(dumps(record), sync)

    def _replay(self, line: bytes) -> None:
        try:
            record = loads(line)
        except WireError:
            return  # one line damaged by the disk: the others still count
        did, name = record.get("did"), record.get("id")
        if did == "token":
            store = record.get("store", "")
            self._note_token(store, max(record["token"], self._tokens.get(store, 0)))
        elif did == ACCEPTED:
            command = record["command"]
            self._entries[name] = CommandEntry(ACCEPTED, record["at"], command and made(CommandSent, command))
        elif name in self._entries:
            entry = self._entries[name]
            if did == "process":
                entry.group = ProcessGroup(record["pid"], record["pid_start"], record.get("boot", ""))
            else:
                entry.state = did
                entry.at = record.get("at", entry.at)
                if did in (FINISHED, THANKED):
                    entry.command = None

    def _note_token(self, store: str, token: int) -> None:
        self._tokens.pop(store, None)
        self._tokens[store] = token
        if len(self._tokens) > KEEP_STORES:
            del self._tokens[next(iter(self._tokens))]

    def _meet_results(self, now: float) -> None:
        """A result file counts even if the kill came before its line; one without a known id is of no use."""
        for file in os.listdir(self.results):
            path = os.path.join(self.results, file)
            entry = self._entries.get(file[2:-5]) if file.endswith(".json") else None
            if entry is None or entry.state == THANKED:
                os.unlink(path)
            elif entry.state != FINISHED:
                entry.state, entry.command, entry.at = FINISHED, None, now
        sync_directory(self.results)

    def _forget(self, now: float) -> None:
        done = sorted((entry.at, name) for name, entry in self._entries.items() if entry.state == THANKED)
        for index, (at, name) in enumerate(done):
            if now - at > KEEP_S or len(done) - index > KEEP_MOST:
                del self._entries[name]


def _told(name: str, group: ProcessGroup) -> Dict[str, object]:
    return {"did": "process", "id": name, "pid": group.pid, "pid_start": group.started, "boot": group.boot}
