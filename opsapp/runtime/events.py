"""The one event bus: a durable outbox, written in the transaction that it tells of, tailed by every node.

Each writer (a thread of a node) has a tree of its own, so writers never conflict. A transaction's events are one Batch;
its serial is the transaction's id, the same order on every node, and serves as event id.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple, cast

from BTrees.LOBTree import LOBTree
from BTrees.OOBTree import OOBTree

from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.runtime.store.transactions import began_at
from opsapp.tree.damage import is_damage, reason_of
from opsapp.tree.places import SystemPlace
from opsapp.tree.root import Root

from .base import NodeBase, base_of
from .wakes import wake_after_commit

log = logging.getLogger(__name__)

Positions = Mapping[str, int]  # by writer: the key of the last batch that was read

RING = 10_000
RECENT = 1_000  # batches that a start reads at once; what is older is read a page at a time, while the node serves
EARLIER = 200
LOOK_S = 0.05  # for what other processes commit; of our own we are told
LOOK_ALONE_S = 1.0
KEEP_S = 3600
AT_ONCE, AT_ONCE_S = 200, 0.005  # events, and time on the hub, before others have their turn
SWEEP_PAGE = 500
LOST = "_lost"  # a batch cannot be read: copies of the store must read everything again
TRIES = 3  # of one event by one listener
SESSION_ENDED = "_session_ended"  # of a session or a key: whatever it has opened and lasts ends (web.callers)
_BATCH = object()


outbox_of = SystemPlace[OOBTree]("outbox")  # writer -> its batches


class Event(NamedTuple):
    """One thing that happened, as plain values. `id` orders events over all nodes."""

    id: str
    kind: str
    data: JsonObject
    at: float
    text: str = ""  # `data` as JSON, made once for all who send it on


class Batch(SealedFields):
    sealed_fields = ("rows",)
    only_shown = True

    def __init__(self, at: float):
        self.at = at
        self.rows: tuple[tuple[str, JsonObject], ...] = ()


def set_up(root: Root) -> None:
    """Evolve step: an empty outbox."""
    outbox_of.put(root, OOBTree())


def emit(root: Root, kind: str, data: JsonObject) -> None:
    """Emit an event in the transaction that makes it true. `data` is what clients of /api/stream get."""
    connection: Any = root._p_jar
    txn = connection.transaction_manager.get()
    try:
        batch = txn.data(_BATCH)
    except KeyError:
        batch = _begin_batch(root)
        txn.set_data(_BATCH, batch)
    batch.rows += ((kind, data),)


def told_in(txn: Any) -> Batch | None:
    """What this transaction has told so far."""
    try:
        return cast(Batch, txn.data(_BATCH))
    except KeyError:
        return None


def read_page(root: Root, positions: Positions, most: int) -> tuple[Positions, list[Event]]:
    """Read as `read_since`, at most so many batches of each writer. What was swept meanwhile is left out."""
    fresh: list[Event] = []
    after = dict(positions)
    for writer, tree in outbox_of(root).items():
        for key, batch in islice(tree.items(positions.get(writer, 0), excludemin=True), most):
            fresh.extend(_told_by(writer, key, batch))
            after[writer] = key
    return after, sorted(fresh, key=lambda event: event.id)


def is_behind(root: Root, positions: Positions) -> bool:
    """Whether anything was told after these."""
    return any(tree and tree.maxKey() > positions.get(writer, 0) for writer, tree in outbox_of(root).items())


def _begin_batch(root: Root) -> Batch:
    node = base_of(root)
    outbox = outbox_of(root)
    tree = outbox.get(node.writer())
    if tree is None:
        tree = outbox[node.writer()] = LOBTree()
    batch = Batch(node.clock.now())
    tree[tree.maxKey() + 1 if tree else 1] = batch
    wake_after_commit(root, "outbox")
    return batch


def read_since(root: Root, positions: Positions) -> tuple[Positions, list[Event]]:
    """Every event behind `positions` (last key read per writer), in commit order, and the new positions."""
    fresh: list[Event] = []
    after = dict(positions)
    for writer, tree in outbox_of(root).items():
        for key, batch in tree.items(positions.get(writer, 0), excludemin=writer in positions):
            fresh.extend(_told_by(writer, key, batch))
            after[writer] = key
    return after, sorted(fresh, key=lambda event: event.id)


def latest(root: Root, most: int) -> Positions:
    """The positions from where a reader has the newest `most` batches of all writers together."""
    ends = {writer: (tree.minKey(), tree.maxKey()) for writer, tree in outbox_of(root).items() if tree}
    share = max(1, most // max(1, len(ends)))
    return {writer: max(first - 1, last - share) for writer, (first, last) in ends.items()}


def read_before(root: Root, positions: Positions, most: int) -> tuple[Positions, list[Event]]:
    """About `most` batches before `positions`, and from where they were read."""
    earlier: list[Event] = []
    before: dict[str, int] = {}
    for writer, last in positions.items():
        tree = outbox_of(root).get(writer)
        first = last - max(1, most // len(positions))
        batches = list(tree.items(first, last, excludemin=True)) if tree else []
        for key, batch in batches:
            earlier.extend(_told_by(writer, key, batch))
        if tree and tree.minKey() <= first:
            before[writer] = first
    return before, sorted(earlier, key=lambda event: event.id)


def _told_by(writer: str, key: int, batch: Batch) -> list[Event]:
    try:
        batch._p_activate()
        serial = int.from_bytes(batch._p_serial, "big")
        told = [Event(f"{serial:016x}-{n:04x}", kind, data, batch.at) for n, (kind, data) in enumerate(batch.rows)]
    except Exception as problem:
        if not is_damage(problem):
            raise
        log.error("events cannot be read: batch %d of %s: %s", key, writer, reason_of(problem))
        return [Event("", LOST, {}, 0.0)]
    batch._p_deactivate()  # nobody reads it here a second time
    return told


def positions(root: Root) -> Positions:
    """Where the outbox ends now: for a reader that has just read the state itself."""
    return {writer: tree.maxKey() for writer, tree in outbox_of(root).items() if tree}


def sweep(root: Root, before: float) -> bool:
    """Delete a page of batches older than `before`; whether there may be more."""
    dropped = 0
    outbox = outbox_of(root)
    for tree in outbox.values():
        # The newest stays: its key is where the writer's numbers go on.
        old: list[int] = []
        for key in list(islice(tree.keys(None, tree.maxKey(), excludemax=True), SWEEP_PAGE)) if tree else ():
            at = _made_at(tree[key])
            old.append(key)
            if at is None:  # it cannot be read, and goes with the next that can
                continue
            if at >= before:
                break
            for old_key in old:
                del tree[old_key]
            dropped += len(old)
            old = []
    return dropped >= SWEEP_PAGE


def _made_at(batch: Batch) -> float | None:
    try:
        return batch.at
    except Exception as problem:
        if not is_damage(problem):
            raise
        return None


class Listener:
    """A listener is called with every event, in order. If it raises, the event and what follows are kept for the next
    steps and nobody else waits; an event that fails each time is given up."""

    def __init__(self, fn: Callable[[Event], None]):
        self.fn = fn
        self.missed: deque[Event] = deque()
        self._tries = 0

    def hear(self, fresh: list[Event]) -> None:
        if not self.missed:
            rest = self._deliver(fresh)
            self.missed.extend(rest)
            return
        self.missed.extend(fresh)
        self.missed = deque(self._deliver(list(self.missed)))

    def _deliver(self, events: list[Event]) -> list[Event]:
        for n, event in enumerate(events):
            try:
                self.fn(event)
            except Exception:
                self._tries += 1
                if self._tries < TRIES:
                    log.exception("listener failed, to be tried again: %r event=%s %s", self.fn, event.kind, event.id)
                    return events[n:]
                log.exception("listener failed, event given up: %r event=%s %s", self.fn, event.kind, event.id)
            self._tries = 0
        return []


class Tail:
    """This node's view of the outbox: the last events in memory, and who listens. Lives on the hub."""

    def __init__(self, node: NodeBase):
        self.node = node
        self.on_move: list[Callable[[Positions, Positions, list[Event]], None]] = []  # told where it has moved
        self._ring: deque[str] = deque(maxlen=RING)  # events as lines: ID KIND TIME DATA, with the time of hearing
        self._earlier: Positions = {}  # what stands before is in the store and not yet in the ring
        self.positions: Positions | None = None
        self.read_at = 0.0  # monotonic: when `positions` had been read
        self.seen_transaction: Any = None
        self.listeners: list[Listener] = []

    def step(self) -> bool:
        """Costs nothing while the store has not changed."""
        last = self.node.last_transaction()
        if last == self.seen_transaction:
            self._hand_on([])
            return self._recall()
        before, after, fresh = self.node.transact(_read_written, self.positions)
        read_at, now = time.monotonic(), self.node.clock.now()
        if self.positions is None:
            self._earlier = before
            self._ring.extend(_lines(fresh, -math.inf, now))
        else:
            self._ring.extend(_lines(fresh, now, now))  # whatever the clock says of who has told it
        self.read_at = read_at  # before `positions`: who meets the new ones in another thread meets their moment too
        self.positions, self.seen_transaction = after, last
        for moved in self.on_move:
            moved(before, after, fresh)
        self._hand_on(fresh)
        return bool(fresh)

    def is_seen_by(self, root: Root) -> bool:
        """Whether the transaction behind `root` sees everything up to `positions`. If it began earlier, what it reads
        must not be kept for others."""
        return began_at(root) >= self.read_at

    def _recall(self) -> bool:
        """Read a page of what was told before the start, for readers who left off there. Nobody waits for it."""
        room = RING - len(self._ring)
        if not self._earlier or room <= 0:
            return False
        self._earlier, earlier = self.node.transact(_read_told, self._earlier)
        lines = sorted([*_lines(earlier, -math.inf, self.node.clock.now())[-room:], *self._ring])
        self._ring.clear()
        self._ring.extend(lines)
        return bool(self._earlier)

    def move(self, by: float) -> None:
        for _ in range(len(self._ring)):
            event_id, kind, at, data = self._ring.popleft().split(" ", 3)
            self._ring.append(f"{event_id} {kind} {float(at) + by!r} {data}")

    def start(self) -> None:
        """Tail the outbox on every node; sweep it on one."""
        node = self.node
        node.clock_steps.follow(self.move)
        every = LOOK_ALONE_S if node.exclusive else LOOK_S
        node.supervisor.add("outbox", self.step, every=every, wake=("outbox",))
        node.supervisor.add(
            "outbox-sweep", lambda: node.transact(sweep, node.clock.now() - KEEP_S), every=60, lease="housekeeping"
        )

    def _hand_on(self, fresh: list[Event]) -> None:
        """Hand the events on, a few milliseconds and events at a time: thousands may listen. Who begins to listen in
        between has what is fresh from the ring."""
        began = time.monotonic()
        for first in range(0, max(1, len(fresh)), AT_ONCE):
            part = fresh[first : first + AT_ONCE]
            for listener in list(self.listeners):
                if part or listener.missed:
                    listener.hear(part)
                if time.monotonic() - began > AT_ONCE_S:
                    self.node.hub.breathe()
                    began = time.monotonic()

    def listen(self, fn: Callable[[Event], None]) -> Callable[[], None]:
        """Call `fn` with every event from now on; the answer stops it."""
        listener = Listener(fn)
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def last_before(self, moment: float) -> str:
        """The last id remembered from before a moment: for one who reads the store now and listens later."""
        ids = (line.split(" ", 3) for line in reversed(tuple(self._ring)))
        return next((event_id for event_id, _, at, _ in ids if float(at) < moment), "0")

    def since(self, event_id: str | None) -> list[Event]:
        """What came after `event_id`, as far as it is remembered; nothing without one."""
        if event_id is None:
            return []
        rows = [line.split(" ", 3) for line in tuple(self._ring) if line.partition(" ")[0] > event_id]
        return [Event(id, kind, json.loads(data), float(at), data) for id, kind, at, data in rows]


def _lines(events: Iterable[Event], earliest: float, latest: float) -> list[str]:
    """What the ring keeps of times between these. Kinds with a dash are for listeners, not for later readers."""
    kept = [event for event in events if not event.kind.startswith("_")]
    return [f"{event.id} {event.kind} {min(max(event.at, earliest), latest)!r} {event.text}" for event in kept]


def _read_written(root: Root, positions: Positions | None) -> tuple[Positions, Positions, list[Event]]:
    """Transaction function: from where was read, `read_since`, and each event's text, made here because others would
    wait on the hub."""
    before = latest(root, RECENT) if positions is None else positions
    after, fresh = read_since(root, before)
    return before, after, _with_text(fresh)


def _read_told(root: Root, positions: Positions) -> tuple[Positions, list[Event]]:
    """Transaction function: a page of what was told before."""
    before, earlier = read_before(root, positions, EARLIER)
    return before, _with_text(earlier)


def _with_text(events: list[Event]) -> list[Event]:
    return [event._replace(text=_packed(event.data)) for event in events]


def _packed(data: JsonObject) -> str:
    """The event's data packed as text, which takes a quarter of the memory."""
    return json.dumps(data, separators=(",", ":"), default=str)
