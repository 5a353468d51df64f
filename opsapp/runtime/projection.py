"""A projection is a copy of a part of the store in this node's memory, as plain values.

In one transaction it reads where the outbox ends, what the events since its last position name, and those items; its
position moves last. So a step that fails has changed nothing and is repeated.

A transaction that has written sees its own unfinished batch, and to move behind it would lose what the batch tells if
it fails. So a projection does not move inside one, nor in one that reads the past: whoever asks there gets what the
memory has.

An item that cannot be read is listed in `damaged`, and the others are taken.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from opsapp.runtime.clocks.clock import Clock
from opsapp.runtime.store.transactions import began_at
from opsapp.tree.damage import Damage, is_damage
from opsapp.tree.root import Root

from . import events
from .base import NodeBase
from .internals import has_changes

log = logging.getLogger(__name__)

WAKE = "projections"
EVERY_S = 5.0
DAMAGED_AGAIN_S = 60.0  # so often an item that could not be read is tried again
Item = TypeVar("Item")


def shows_what_is_committed(root: Root) -> bool:
    """Whether the transaction behind `root` sees the present store, and nothing of its own."""
    connection: Any = root._p_jar
    return connection.before is None and not has_changes(connection.transaction_manager.get())


class Projection(ABC, Generic[Item]):
    """Items of one kind by id. Any thread may move it (`catch_up`); readers never wait for that."""

    kind: ClassVar[str]  # what people call such an item
    moves_itself: ClassVar[bool] = False  # a step of its own calls `catch_up`

    def __init__(self, clock: Clock):
        self.behind = True  # there may be something that it has not taken
        self.damaged: dict[str, Damage] = {}
        self._positions: events.Positions | None = None  # None: read everything
        self._read_at = 0.0
        self._tried_at = 0.0
        self._put_at: dict[str, float] = {}
        self._clock = clock
        self._moving = threading.Lock()  # held while the store is read: never waited for on the hub
        self._taking = threading.Lock()  # held while the memory changes

    # -- what a kind of items says of itself

    @abstractmethod
    def concerns(self, event: events.Event) -> str | None:
        """The id of the item that the event names, if it is of this kind."""

    @abstractmethod
    def ids(self, root: Root) -> Iterable[str]:
        """Every item in the store."""

    @abstractmethod
    def read(self, root: Root, item_id: str) -> Item | None:
        """One item as plain values; None when there is none of this id."""

    @abstractmethod
    def known(self) -> Collection[str]:
        """Ids of what the memory has."""

    @abstractmethod
    def apply(self, items: Mapping[str, Item | None]) -> None:
        """Take in these items, where None means that the item is gone. Must not ask the store."""

    def name_of(self, item_id: str) -> str:
        return ""

    # -- moving

    def catch_up(self, root: Root) -> None:
        """Transaction function: take everything that `root` sees and the memory has not."""
        if not shows_what_is_committed(root):
            return
        with self._moving:
            self.behind = False  # what is committed from here on sets it again
            try:
                self._move(root)
            except BaseException:
                self.behind = True
                raise

    def stands_for(self, root: Root) -> bool:
        """Whether the memory, once caught up, has every item that `root` sees, or a newer one: nothing is damaged, and
        the transaction reads the present and has not written."""
        if not shows_what_is_committed(root):
            return False
        self.catch_up(root)
        return not self.damaged

    def reset(self) -> None:
        with self._moving:
            self._positions, self.behind = None, True

    def put(self, item_id: str, item: Item | None) -> None:
        """What this node has just committed: in the memory before anybody reads the outbox."""
        with self._taking:
            self._put_at[item_id] = time.monotonic()
            self.apply({item_id: item})

    def _move(self, root: Root) -> None:
        now, positions, ids = self._clock.monotonic(), self._positions, set[str]()
        whole = positions is None or now - self._read_at > events.KEEP_S / 2
        if positions is not None and not whole:
            positions, fresh = events.read_since(root, positions)
            ids = {item_id for event in fresh if (item_id := self.concerns(event)) is not None}
            whole = any(event.kind == events.LOST for event in fresh)
        if whole:  # the outbox may no longer reach back to where we were
            positions, ids = events.positions(root), {*self.known(), *self.ids(root)}
        if whole or (self.damaged and now - self._tried_at >= DAMAGED_AGAIN_S):
            ids |= self.damaged.keys()
            self._tried_at = now
        items, damaged = self._read_all(root, ids)
        self._take(root, items)
        self._note_damage(ids, damaged)
        self._positions, self._read_at = positions, now
        if whole:
            connection: Any = root._p_jar
            connection.cacheGC()  # what was read is plain values now

    def _read_all(self, root: Root, ids: Iterable[str]) -> tuple[dict[str, Item | None], dict[str, Damage]]:
        items, damaged = {}, {}
        for item_id in ids:
            try:
                items[item_id] = self.read(root, item_id)
            except Exception as problem:
                if not is_damage(problem):
                    raise
                damaged[item_id] = Damage.found(self.kind, item_id, problem, self.name_of(item_id))
        return items, damaged

    def _take(self, root: Root, items: dict[str, Item | None]) -> None:
        """Take these items but for what was put after this transaction began: it sees something older."""
        began = began_at(root)
        with self._taking:
            self._put_at = {item_id: at for item_id, at in self._put_at.items() if at >= began}
            taken = {item_id: item for item_id, item in items.items() if item_id not in self._put_at}
            if taken:
                self.apply(taken)

    def _note_damage(self, ids: Collection[str], damaged: dict[str, Damage]) -> None:
        for item_id, damage in damaged.items():
            if item_id not in self.damaged:
                log.error("cannot be read: %s: %s", damage, damage.reason)
        kept = {item_id: damage for item_id, damage in self.damaged.items() if item_id not in ids}
        self.damaged = kept | damaged

    def pass_over(self, before: Mapping[str, int], after: Mapping[str, int], fresh: Iterable[events.Event]) -> None:
        """Called on the hub when the outbox moved from `before` to `after`. Where nothing in between concerns this
        projection its position moves, too, and nothing is read."""
        concerned = any(event.kind == events.LOST or self.concerns(event) is not None for event in fresh)
        if concerned or not self._moving.acquire(blocking=False):
            self.behind = True
            return
        try:
            self._skip(before, after)
        finally:
            self._moving.release()

    def _skip(self, before: Mapping[str, int], after: Mapping[str, int]) -> None:
        own = self._positions
        if own is None or self.behind:
            return
        if any(own.get(writer, 0) < before.get(writer, 0) for writer in after):
            self.behind = True  # nobody has looked at what lies between
            return
        self._positions = {**own, **{writer: max(key, own.get(writer, 0)) for writer, key in after.items()}}
        self._read_at = self._clock.monotonic()


class Projections:
    """All of this node, and the step that moves those which no other step moves."""

    def __init__(self, node: NodeBase, tail: events.Tail):
        self.node = node
        self._by_name: dict[str, Projection[Any]] = {}
        tail.on_move.append(self.pass_over)

    def add(self, name: str, projection: Projection[Any]) -> None:
        self._by_name[name] = projection

    def all(self) -> dict[str, Projection[Any]]:
        return dict(self._by_name)

    def pass_over(self, before: Mapping[str, int], after: Mapping[str, int], fresh: list[events.Event]) -> None:
        for projection in tuple(self._by_name.values()):
            projection.pass_over(before, after, fresh)
        if any(projection.behind for projection in self._by_name.values()):
            self.node.wake(WAKE)

    def step(self) -> bool:
        """One that fails does not keep the others from moving; it is tried again with the next step."""
        problems = []
        for projection in tuple(self._by_name.values()):
            if projection.moves_itself or not (projection.behind or projection.damaged):
                continue
            try:
                self.node.transact(projection.catch_up)
            except Exception as problem:  # noqa: BLE001 - the first is raised, and the step repeated
                problems.append(problem)
        if problems:
            raise problems[0]
        return False

    def damaged(self) -> list[Damage]:
        damages = [damage for projection in tuple(self._by_name.values()) for damage in projection.damaged.values()]
        damages += [damage for noted in tuple(self.node.noted_damage.values()) for damage in noted]
        return list({(damage.kind, damage.id): damage for damage in damages}.values())

    def start(self) -> None:
        self.node.supervisor.add("projections", self.step, every=EVERY_S, wake=(WAKE,))
