"""Live logs: the last lines of the journal or of a file, then every new one, until the reader leaves.

A reader that is too slow loses lines and is told how many: a log must never hold up the host.
Must not: leave a process behind; what a killed agent left is ended by the next one, which knows it by a mark.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Any, List, Optional

from opsapp.wire.commands import LogTailParams
from opsapp.wire.handles import readable
from opsapp.wire.messages import Lines, LogLine, StreamOpened

from .commands import TAIL_MOST, tail
from .paths import PathRules
from .processes import end_marked, environment, signal_group
from .streams import OpenStream, StreamStopped, explain
from .websocket import ServerSocket

FLUSH_S = 0.1
FOLLOW_S = 0.3
MISSING_S = 10
BATCH = 200
LINE_MOST = 32768
MARK = "OPSAPP_AGENT_STREAM"


class LogTail(OpenStream):
    def __init__(self, number: int, params: LogTailParams, ws: ServerSocket, rules: PathRules, state_dir: str):
        super().__init__(number, params, ws)
        self._state_dir = state_dir
        self._rules = rules
        self._dropped = 0
        self._told: Optional[str] = None  # the place of the last line that was sent
        self._missing_since: Optional[float] = None  # nothing stands at the path any more

    def run(self) -> None:
        try:
            if self.params.source == "file":
                self._follow_file()
            else:
                self._follow_journal()
        except OSError as error:
            raise explain(error) from None

    # ---- journald
    def _follow_journal(self) -> None:
        argv = [
            "journalctl",
            "--follow",
            "--no-pager",
            "--quiet",
            "--output=json",
            "--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_PID",
            f"--lines={self.params.lines}",
        ]
        if self.params.unit:
            argv.append(f"--unit={self.params.unit}")
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment({MARK: whose(self._state_dir)}),
            start_new_session=True,
        )
        try:
            self.say(StreamOpened(self.number))
            self._read(child)
        finally:
            signal_group(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()  # type: ignore[union-attr]

    def _read(self, child: "subprocess.Popen[bytes]") -> None:
        pipe = child.stdout.fileno()  # type: ignore[union-attr]
        rest = b""
        while not self.left.is_set():
            if not readable([pipe], FLUSH_S):
                continue
            data = os.read(pipe, 65536)
            if not data:
                raise StreamStopped("end", "the journal's reader ended")
            *whole, rest = (rest + data).split(b"\n")
            rest = rest[-LINE_MOST * 4 :]
            self._emit([entry for entry in map(journal_entry, whole) if entry])
        raise StreamStopped("left")

    # ---- file
    def _follow_file(self) -> None:
        file = self._open()
        try:
            self.say(StreamOpened(self.number, path=self.params.path))
            self._begin(file)
            rest = b""
            while not self.left.wait(FOLLOW_S):
                rest = self._new_lines(file, rest)
                if os.fstat(file.fileno()).st_size < file.tell():
                    file.seek(0)  # emptied in place, and half a line of before with it
                    rest = b""
                elif self._replaced(file):
                    rest = self._new_lines(file, rest)
                    file.close()
                    file, rest = self._open_again(), b""
        finally:
            file.close()
        raise StreamStopped("left")

    def _begin(self, file: Any) -> None:
        """All behind the place that the reader knows; when they were written nobody can say."""
        if self.params.after:
            data = self._behind(file, *map(int, self.params.after.split(":")))
        elif self.params.lines:
            data = tail(file, self.params.lines)
        else:
            file.seek(0, os.SEEK_END)
            data = b""
        *whole, part = data.split(b"\n")
        self._emit(self._placed(file, whole, len(part), None))
        if part:
            self._emit(self._placed(file, [part], -1, None))

    def _behind(self, file: Any, device: int, inode: int, offset: int) -> bytes:
        about = os.fstat(file.fileno())
        if (device, inode) != (about.st_dev, about.st_ino) or offset > about.st_size:
            self._emit([LogLine(None, "[the file was replaced meanwhile]", _place(about, 0))])
            offset = 0
        if about.st_size - offset > TAIL_MOST:
            self._emit([LogLine(None, "[lines were left out: too much was written meanwhile]", _place(about, 0))])
            return tail(file, TAIL_MOST)
        file.seek(offset)
        return file.read(TAIL_MOST)

    def _placed(self, file: Any, lines: List[bytes], rest: int, at: Optional[float]) -> List[LogLine]:
        """`rest` bytes of a next line stand behind them; each with the place where it ends."""
        about, behind = os.fstat(file.fileno()), file.tell() - rest - sum(len(line) + 1 for line in lines)
        entries = []
        for line in lines:
            behind += len(line) + 1
            entries.append(LogLine(at, _shown(line), _place(about, behind)))
        return entries

    def _open(self) -> Any:
        return self._rules.open_for_reading(self.params.path, self.params.role)

    def _open_again(self) -> Any:
        """Open the file again after a rotation, which may need a moment."""
        until = time.monotonic() + MISSING_S
        while True:
            try:
                return self._open()
            except FileNotFoundError:
                if self.left.wait(FOLLOW_S) or time.monotonic() > until:
                    raise StreamStopped("end", "the file is gone") from None

    def _replaced(self, file: Any) -> bool:
        """The writer of a file that was moved away goes on with it, so it counts until another file takes its place."""
        about = os.fstat(file.fileno())
        try:
            there = os.stat(self.params.path)
        except FileNotFoundError:
            now = time.monotonic()
            self._missing_since = now if self._missing_since is None else self._missing_since
            if now - self._missing_since > MISSING_S:
                raise StreamStopped("end", "the file is gone") from None
            return False
        self._missing_since = None
        return (there.st_dev, there.st_ino) != (about.st_dev, about.st_ino)

    def _new_lines(self, file: Any, rest: bytes) -> bytes:
        while not self.left.is_set():
            data = file.read(65536)
            if not data:
                return rest
            *whole, rest = (rest + data).split(b"\n")
            entries = self._placed(file, whole, len(rest), time.time())
            rest = rest[-LINE_MOST:]
            self._emit(entries)
        return rest

    # ---- sending
    def _emit(self, entries: List[LogLine]) -> None:
        for start in range(0, len(entries), BATCH):
            batch = entries[start : start + BATCH]
            if self._dropped:
                notice = f"[{self._dropped} lines were dropped: the reader is too slow]"
                batch = [LogLine(None, notice, self._told), *batch]
            if not self.take_credit(sum(entry.size for entry in batch)):
                self._dropped += len(entries[start : start + BATCH])
                continue
            self._dropped, self._told = 0, batch[-1].place
            self.say(Lines(self.number, tuple(batch)))


def whose(state_dir: str) -> str:
    """One agent on this machine, in a container or not: by the directory that only one at a time may hold."""
    about = os.stat(state_dir)
    return f"{about.st_dev}:{about.st_ino}"


def end_left(state_dir: str) -> int:
    """End the followers that were left, for whoever holds the state's lock."""
    return end_marked(MARK, whose(state_dir))


def journal_entry(line: bytes) -> Optional[LogLine]:
    if not line:
        return None
    try:
        decoded = json.loads(line)
    except ValueError:
        return None
    message = decoded.get("MESSAGE")
    if isinstance(message, list):  # what is not UTF-8 comes as a list of bytes
        message = bytes(message).decode("utf-8", "replace")
    name, pid = decoded.get("SYSLOG_IDENTIFIER"), decoded.get("_PID")
    label = f"{name}[{pid}]: " if name and pid else f"{name}: " if name else ""
    stamp = decoded.get("__REALTIME_TIMESTAMP")
    at = int(stamp) / 1e6 if isinstance(stamp, str) and stamp.isdigit() else None
    return LogLine(at, _shown(f"{label}{message}".encode("utf-8", "replace")))


def _shown(raw: bytes) -> str:
    return raw[:LINE_MOST].decode("utf-8", "replace").rstrip("\r")


def _place(about: os.stat_result, behind: int) -> str:
    return f"{about.st_dev}:{about.st_ino}:{behind}"
