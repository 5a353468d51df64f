"""Packing: dropping the store's past, and what nothing refers to any more. Of an embedded store by itself, too.

A pack writes the file anew beside itself, in a native thread, and needs room for that. A ZEO server or PostgreSQL packs
with tools of its own. How far back the store can be read afterwards: `past`.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from zoneinfo import ZoneInfo

from ZODB.FileStorage import FileStorage

from opsapp.lib.problems import Conflict, Invalid
from opsapp.lib.settings import Between
from opsapp.runtime.base import NodeBase
from opsapp.tree.root import Root
from opsapp.wire.dataclass import frozen

from . import diskspace, indexed, past
from .transactions import Databases, Store

log = logging.getLogger(__name__)

DAY_S = 86400
SPARE = 64 << 20  # bytes that everything else may need meanwhile
LAST = "last_pack"


@frozen
class PackSettings:
    """`store.pack`: when an embedded store drops its past by itself."""

    enabled: bool = True
    days: Annotated[int, Between(0, 3650)] = 7
    hour: Annotated[int | None, Between(0, 23)] = 3
    growth: Annotated[float, Between(1, 1000)] = 2
    least_mb: Annotated[int, Between(0, 1 << 20)] = 64
    latest_days: Annotated[float, Between(0.001, 3650)] = 30
    look_s: Annotated[float, Between(0.1, 86400)] = 600


class LastPack(NamedTuple):
    at: float
    sizes: dict[str, int]


def sizes(databases: Databases) -> dict[str, int]:
    return {name or "main": db.getSize() for name, db in databases.items()}


def pack(store: Store, days: int, now: float) -> None:
    """Drop revisions older than `days`. Conflict where the disk has no room. `now` is the node's clock; revisions have
    the times of their commits. Blocks: call it in a native thread."""
    if days < 0:
        raise Invalid({"days": "must not be negative"})
    check_room(store.databases)
    until = time.time() - days * DAY_S
    store.transact(past.note_pack, (until,))
    for db in store.databases.values():
        if isinstance(db.storage, FileStorage):
            _pack_file(db, until)
        else:
            db.pack(until)
    store.transact(_note, (LastPack(now, sizes(store.databases)),))


def _pack_file(db: Any, until: float) -> None:
    """The old file stays until the new one has its index: a start knows by it why the file is shorter."""
    try:
        db.pack(until)
    finally:
        indexed.drop_old(Path(db.storage.getName()))


def check_room(databases: Databases) -> None:
    """Each file in turn is written anew beside itself; at worst nothing of it can be dropped."""
    for db in databases.values():
        if not isinstance(db.storage, FileStorage):
            continue
        directory, needed = Path(db.storage.getName()).parent, db.getSize() + SPARE
        free = diskspace.free(directory)
        if free < needed:
            raise Conflict(
                f"There is not enough room to pack: it needs {needed >> 20} MiB on the disk of the store, "
                f"and {int(free) >> 20} MiB are free.",
                code="no_room",
            )


def last(root: Root) -> LastPack | None:
    """Transaction function."""
    stored = root.system.get(LAST)
    return None if stored is None else LastPack(*stored)


def _note(root: Root, done: LastPack) -> None:
    root.system[LAST] = tuple(done)


def is_due(done: LastPack | None, size: int, now: float, settings: PackSettings) -> bool:
    """Whether the files have grown enough since the last pack, or it was long ago."""
    if done is None or not 0 <= now - done.at < settings.latest_days * DAY_S:
        return True  # never, long ago, or by a clock that was ahead
    return size >= max(settings.growth * sum(done.sizes.values()), settings.least_mb << 20)


class Packer:
    """Packs whenever a pack is due, at an hour of the day at which it disturbs least."""

    def __init__(self, node: NodeBase):
        self.node = node
        self._tried_at = -float("inf")  # in monotonic seconds

    def look(self) -> bool:
        """Step. A failure is logged, and not tried again within half a day; the service goes on."""
        settings, now = self.node.config[PackSettings], self.node.clock.now()
        rests = self.node.clock.monotonic() < self._tried_at + DAY_S / 2
        if not settings.enabled or not self._is_hour(settings.hour, now) or rests:
            return False
        size = sum(sizes(self.node.store.databases).values())
        if is_due(self.node.transact(last), size, now, settings):
            self._tried_at = self.node.clock.monotonic()
            self.node.lane("pack", 1).run(self._pack, settings.days)
        return False

    def _is_hour(self, hour: int | None, now: float) -> bool:
        zone = ZoneInfo(self.node.config.timezone)
        return hour is None or datetime.fromtimestamp(now, zone).hour == hour

    def _pack(self, days: int) -> None:
        before, began = sizes(self.node.store.databases), time.monotonic()
        try:
            pack(self.node.store, days, self.node.clock.now())
        except Exception as problem:  # whatever it is, the service goes on, and people are told of it
            self.node.pack_problem = str(problem)
            log.exception("the store was not packed")
            return
        self.node.pack_problem = None
        after = sizes(self.node.store.databases)
        log.info("store packed from=%s to=%s seconds=%.1f", before, after, time.monotonic() - began)


def start(node: NodeBase) -> None:
    """Runs on the hub of the process that has an embedded store."""
    if all(isinstance(db.storage, FileStorage) for db in node.store.databases.values()):
        node.supervisor.add(
            "store-pack", Packer(node).look, every=lambda: node.config[PackSettings].look_s, wake=("config",)
        )
