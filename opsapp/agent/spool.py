"""Reports on their way. Live ones in memory; while the server is away one a minute on the disk, bounded.

The oldest metrics are dropped first. Results and outcomes never pass here: they have files of their own.
Must not: send anything.
"""

from __future__ import annotations

import collections
import logging
import os
import threading
from typing import Deque, List, Optional

from opsapp.wire.commands import read_report
from opsapp.wire.fields import WireError, dumps, loads
from opsapp.wire.records import plain
from opsapp.wire.reports import HostReport

from .disk import LineFile

log = logging.getLogger("spool")
LIVE_MOST = 8
SPOOL_EVERY_S = 60.0
# What a spooled report keeps: history is made of numbers; the rest was only of use at the time.
_KEPT = (
    "hostname",
    "os",
    "time",
    "cpu_percent",
    "mem_percent",
    "disk_percent",
    "swap_percent",
    "uptime_s",
    "load1",
    "load5",
    "load15",
    "disks",
    "services",
    "containers",
)


class Spool:
    def __init__(self, directory: str, limit: int):
        self._lock = threading.Lock()
        self._limit = limit
        self._live: Deque[HostReport] = collections.deque(maxlen=LIVE_MOST)
        self._lines = LineFile(os.path.join(directory, "spool.jsonl"))
        self._mark = os.open(os.path.join(directory, "spool.mark"), os.O_RDWR | os.O_CREAT, 0o600)
        mark = os.pread(self._mark, 32, 0)
        self._sent = min(int(mark), self._lines.size) if mark.isdigit() else 0  # bytes at the front, delivered
        self._kept_at = 0.0

    def put(self, report: HostReport) -> None:
        """Queue a report; the oldest live one falls out when nobody takes them."""
        with self._lock:
            self._live.append(report)

    def take(self) -> Optional[HostReport]:
        with self._lock:
            return self._live.popleft() if self._live else None

    def keep(self, report: HostReport) -> None:
        """Write a report to the disk, at most one a minute."""
        with self._lock:
            # Before the last one: this host's clock was set back, and its time goes on from there.
            at = report.time or 0.0
            if report.is_spooled or 0 <= at - self._kept_at < SPOOL_EVERY_S:
                return
            self._kept_at, told = at, plain(report)
            line = dumps({**{name: told[name] for name in _KEPT if name in told}, "reason": "spooled"})
            try:
                self._make_room(len(line) + 1)
                self._lines.append(line, sync=False, vital=False)
            except OSError as error:
                log.warning("a report cannot be spooled: %s", error)

    def oldest(self) -> Optional[HostReport]:
        """The oldest report, which stays until `delivered` is called."""
        with self._lock:
            while self._sent < self._lines.size:
                line = self._lines.at(self._sent)
                try:
                    return read_report(loads(line))
                except WireError:
                    self._advance(len(line))  # damaged on the disk
            return None

    def delivered(self) -> None:
        with self._lock:
            if self._sent < self._lines.size:
                try:
                    self._advance(len(self._lines.at(self._sent)))
                except OSError as error:  # it is told again after a restart: history, and at its own time
                    log.warning("what was delivered cannot be noted: %s", error)

    def close(self) -> None:
        with self._lock:
            self._lines.close()
            os.close(self._mark)

    # ---- inside, with the lock held
    def _advance(self, size: int) -> None:
        self._set_mark(self._sent + size)
        if self._sent >= self._lines.size:
            self._keep_only([])

    def _set_mark(self, sent: int) -> None:
        self._sent = sent
        os.pwrite(self._mark, b"%020d" % sent, 0)

    def _keep_only(self, lines: List[bytes]) -> None:
        self._lines.replace(lines)
        self._set_mark(0)

    def _make_room(self, more: int) -> None:
        if self._lines.size + more <= self._limit:
            return
        keep_from = max(self._sent, self._lines.size + more - self._limit * 3 // 4)
        kept, place = [], 0
        for line in self._lines:
            if place >= keep_from:
                kept.append(line.rstrip(b"\n"))
            place += len(line)
        self._keep_only(kept)
