"""Armed actions: what can cut this host off is undone by itself, unless the server confirms it in time.

A record on the disk comes before the action, so the undoing survives the agent's death and the host's. `confirm` and
the timer cannot both win: the record's state decides, and it is on the disk before anything follows from it.
Must not: know how an action is undone (heal.py), or whether it helped (the server).
"""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import replace
from typing import Annotated, Callable, Dict, List, Optional

from opsapp.wire.dataclass import frozen
from opsapp.wire.fields import WireError, dumps, loads
from opsapp.wire.kinds import Anything
from opsapp.wire.records import made, plain
from opsapp.wire.reports import Passed

from .disk import sync_directory, write_whole
from .snapshots import Snapshot, snapshot_of
from .steady import HostMoment, SteadyClock

log = logging.getLogger("armed")
ARMED, UNDOING, CONFIRMED, UNDONE, UNDO_FAILED = "armed", "undoing", "confirmed", "undone", "undo_failed"
OPEN = (ARMED, UNDOING)
KEEP_MOST = 200
ALONE = "alone."  # what the id of a heal begins with that no server asked for
AGAIN_S = 10.0  # an undoing that failed is tried again
ATTEMPTS = 30

Undo = Callable[["ArmedRecord"], bool]


@frozen
class ArmedRecord:
    heal_id: str
    action_type: str
    snapshot: Snapshot
    state: str = ARMED
    attempts: int = 0
    seconds: float = 0.0
    undo_at: float = 0.0
    moment: Annotated[object, Anything()] = None

    @property
    def is_open(self) -> bool:
        return self.state in OPEN


class Armed:
    def __init__(self, directory: str, clock: Optional[SteadyClock] = None):
        self.undo: Undo = lambda record: False
        self._directory = os.path.join(directory, "armed")
        self._clock = clock or SteadyClock()
        self._lock = threading.RLock()
        self._look = threading.Event()
        self._stopping = False
        self._records: Dict[str, ArmedRecord] = {}
        self._undo_at: Dict[str, HostMoment] = {}
        self._due: Dict[str, float] = {}  # when it is tried next, by the time since the boot
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        self._load()

    # ---- what a heal says
    def arm(self, heal_id: str, snapshot: Snapshot, seconds: float) -> None:
        """The record is on the disk when this returns. OSError when it cannot be: then the caller may do nothing."""
        self._put(self._in(seconds, ArmedRecord(heal_id, snapshot.action_type, snapshot)))

    def postpone(self, heal_id: str, seconds: float) -> None:
        """The action is done: its time begins now. Not when it is being undone already."""
        with self._lock:
            record = self._records.get(heal_id)
            if record and record.state == ARMED:
                self._put(self._in(seconds, record))

    def _in(self, seconds: float, record: ArmedRecord) -> ArmedRecord:
        undo_at = self._clock.now().later(seconds)
        return replace(record, seconds=seconds, undo_at=undo_at.wall, moment=self._clock.kept(undo_at))

    def confirm(self, heal_id: str) -> Optional[str]:
        """Disarm the undo and return the state that holds from now on, for the timer may have been faster; None:
        nothing was armed."""
        with self._lock:
            record = self._records.get(heal_id)
            if record and record.state == ARMED:
                self._put(replace(record, state=CONFIRMED))
            return self._records[heal_id].state if record else None

    def settle(self, heal_id: str, state: str) -> None:
        """What became of an undoing, whoever did it."""
        with self._lock:
            record = self._records.get(heal_id)
            if record and record.is_open:
                self._put(replace(record, state=state))

    def waiting(self) -> List[ArmedRecord]:
        with self._lock:
            return [record for record in self._records.values() if record.is_open]

    def unconfirmed(self, action_type: str, params: Passed, silent_s: float) -> bool:
        """Whether a server asked for this very action, and was not heard again after the time to confirm it: it may
        have cut this host off. `silent_s`: for how long the server was not heard."""
        with self._lock:
            return any(
                (record.action_type, record.snapshot.params) == (action_type, params)
                and record.state != CONFIRMED
                and self._clock.age(self._undo_at[name]) <= silent_s
                and not name.startswith(ALONE)
                for name, record in self._records.items()
            )

    # ---- the timer
    def run(self) -> None:
        while not self._stopping:
            left = self.turn()
            self._look.wait(left)
            self._look.clear()

    def stop(self) -> None:
        self._stopping = True
        self._look.set()

    def turn(self) -> Optional[float]:
        """Undo what is due; seconds until the next, None when nothing waits."""
        for heal_id in [name for name, due in list(self._due.items()) if due <= self._clock.running()]:
            self._undo(heal_id)
        return max(0.0, min(self._due.values()) - self._clock.running()) if self._due else None

    def _undo(self, heal_id: str) -> None:
        with self._lock:
            record = self._records[heal_id]
            if not record.is_open:
                self._due.pop(heal_id, None)
                return
            record = replace(record, state=UNDOING, attempts=record.attempts + 1)
            self._put(record)
        log.warning("nobody confirmed %s (%s): undoing it", record.action_type, heal_id)
        try:
            undone = self.undo(record)
        except Exception:  # whatever a handler does, the next one must have its turn
            log.exception("undoing %s failed", heal_id)
            undone = False
        if undone:
            self.settle(heal_id, UNDONE)
        elif record.attempts >= ATTEMPTS:
            self.settle(heal_id, UNDO_FAILED)
        else:
            with self._lock:
                self._due[heal_id] = self._clock.running() + AGAIN_S

    # ---- the disk
    def _put(self, record: ArmedRecord) -> None:
        with self._lock:
            write_whole(self._path(record.heal_id), dumps(plain(record)))
            self._records[record.heal_id] = record
            self._time(record)
            self._forget()
        self._look.set()

    def _time(self, record: ArmedRecord) -> None:
        undo_at = self._undo_at[record.heal_id] = self._read(record)
        if record.is_open:
            left = min(max(0.0, -self._clock.age(undo_at)), record.seconds)
            self._due[record.heal_id] = self._clock.running() + left
        else:
            self._due.pop(record.heal_id, None)

    def _read(self, record: ArmedRecord) -> HostMoment:
        """When it is undone. Of a boot before this one, it was armed then by the clock, and has waited since."""
        kept, seconds = record.moment, record.seconds
        if self._clock.is_of_this_boot(kept):
            return self._clock.read(kept, record.undo_at)
        return self._clock.read(None, record.undo_at - seconds).later(seconds)

    def _load(self) -> None:
        for entry in sorted(os.scandir(self._directory), key=lambda entry: entry.stat().st_mtime):
            if not entry.name.endswith(".json"):
                continue
            try:
                with open(entry.path, "rb") as file:
                    record = _record_of(loads(file.read()))
            except (OSError, WireError) as error:
                log.error("%s cannot be read: %s", entry.name, error)
                continue
            self._records[record.heal_id] = record
            self._time(record)

    def _forget(self) -> None:
        over = [name for name, record in self._records.items() if not record.is_open][:-KEEP_MOST]
        for name in over:
            del self._records[name], self._undo_at[name]
            os.unlink(self._path(name))
        if over:
            sync_directory(self._directory)

    def _path(self, heal_id: str) -> str:
        return os.path.join(self._directory, f"a-{heal_id}.json")


def _record_of(kept: dict) -> ArmedRecord:
    record = made(ArmedRecord, {**kept, "snapshot": None})
    return replace(record, snapshot=snapshot_of({"action_type": record.action_type, **kept["snapshot"]}))
