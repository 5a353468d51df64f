"""Messages and their deliveries: a durable queue per channel, and the log of what became of each.

    queued → sending → sent | queued (tried again later) | failed (given up)
    queued → merged (into another delivery: a digest) | dropped (its channel is gone, or it was over before)

`sending` is the intent, committed before anything leaves; whoever finds one of a process that is gone queues it again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.notify.logic import rank
from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.records import DeliveryRecord
from opsapp.runtime.queue import Agenda, Claims
from opsapp.tree.counted import LAST, StoredCounts, newest
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root

PAGE = 500
ANY = "*"


class Message(Persistent):
    def __init__(self, content: MessageContent):
        self.fields = dict(vars(content))

    @property
    def content(self) -> MessageContent:
        return MessageContent(**self.fields)


class Deliveries(Folder):
    """`queue`: channel id -> (due, id); `sending`: id -> the process that sends it.
    Ids are in the order of time. `index`: ids behind what a filter asks for, `channel/status/id` with `*` for any; only
    what has ended has a status there, for what has not is in the queues. `counts`: how many each filter has."""

    url = "/api/notifications/deliveries"
    to_move: Any = None  # what 0.3 had still to move with a clock that was set: id -> by which seconds

    def __init__(self) -> None:
        super().__init__()
        self.messages = OOBTree()
        self.queue = OOBTree()
        self.sending = OOBTree()
        self.index = OOTreeSet()
        self.counts = StoredCounts()

    def add_message(self, content: MessageContent, now: float) -> str:
        message_id = timed_id(now, self.messages)
        self.messages[message_id] = Message(replace(content, id=message_id))
        return message_id

    def enqueue(self, channel: Any, messages: Iterable[str], now: float, due: float, held: str | None) -> Delivery:
        delivery = Delivery(channel.id, channel.record.name, "message", tuple(messages), now)
        self.put(delivery, now)
        delivery.held = held
        self.wait(delivery, due)
        return delivery

    def put(self, delivery: Delivery, now: float) -> None:
        """Adds it to the log, behind what is in it already."""
        self[timed_id(now, self._children)] = delivery
        self.index.insert(_front(delivery.channel_id, ANY) + delivery.id)
        self.counts.add(_front(ANY, ANY), _front(delivery.channel_id, ANY))

    @property
    def claims(self) -> Claims:
        return Claims(self.sending)

    def agenda(self, channel_id: str) -> Agenda:
        """What waits for a channel."""
        return Agenda(self.queue.get(channel_id, ()))

    def waiting_for(self, channel_id: str) -> list[Delivery]:
        """The same as deliveries, the earliest first."""
        return [self[delivery_id] for _, delivery_id in self.agenda(channel_id).rows]

    def wait(self, delivery: Delivery, due: float) -> None:
        """Queued until `due`."""
        self._take_off(delivery)
        delivery.status, delivery.due = "queued", due
        if delivery.channel_id not in self.queue:
            self.queue[delivery.channel_id] = OOTreeSet()
        self.agenda(delivery.channel_id).add(due, delivery.id)

    def under_way(self) -> list[str]:
        """What has not left yet."""
        return [*self._under_way("queued", None), *self._under_way("sending", None)]

    def shift(self, delivery_id: str, by: float) -> int:
        """The clock was set by so many seconds: what is tried again has as long to wait, and to be tried, as before.
        What is held until an hour (quiet hours, a digest) waits for that hour."""
        waits = [delivery for _, delivery in self.some_items([delivery_id]) if delivery.finished_at is None]
        for delivery in waits:
            delivery.moved += by
            if delivery.status == "queued" and (delivery.attempts or not delivery.held):
                self.wait(delivery, delivery.due + by)
        return len(waits)

    def begin(self, delivery: Delivery, owner: str) -> None:
        """The intent."""
        self._take_off(delivery)
        self.claims.claim(delivery.id, owner)
        delivery.status = "sending"
        delivery.attempts += 1

    def end(self, delivery: Delivery, status: str, now: float, error: str | None = None) -> None:
        """The outcome."""
        self._take_off(delivery)
        delivery.status, delivery.error, delivery.finished_at = status, error, now
        self.index.update(_keys(delivery))
        self.counts.add(*_ended(delivery))

    def _take_off(self, delivery: Delivery) -> None:
        """Out of the queue and out of what is being sent."""
        if delivery.channel_id in self.queue:
            waiting = self.agenda(delivery.channel_id)
            waiting.discard(delivery.due, delivery.id)
            if not waiting:
                del self.queue[delivery.channel_id]
        self.claims.release(delivery.id)

    def due(self, channel_id: str, now: float, most: int) -> list[Delivery]:
        if channel_id not in self.queue:
            return []
        return [self[delivery_id] for _, delivery_id in self.agenda(channel_id).due(now, most)]

    def passed_by(self, delivery: Delivery, most: int) -> list[Delivery]:
        """What waits for the same channel though nothing holds it, was put into the log before, and is about the same
        thing."""
        first = islice(self.agenda(delivery.channel_id).rows, most)
        older = [self[other_id] for _, other_id in first if other_id < delivery.id]
        older = [other for other in older if not other.held]
        keys = delivery.keys_told() if older else frozenset()
        return [other for other in older if not keys.isdisjoint(other.keys_told())]

    def withdraw(self, keys: Collection[str], now: float) -> None:
        """Messages of them that have not left do not leave."""
        for channel_id in list(self.queue) if keys else ():
            for delivery in self.waiting_for(channel_id):
                messages = delivery.contents()
                left = tuple(message.id for message in messages if message.key not in keys)
                if messages and not left:
                    self.end(delivery, "dropped", now, "it was over before it was sent")
                elif len(left) < len(messages):
                    delivery.messages = left

    def waiting(self) -> int:
        """How many have not left yet."""
        return sum(len(waiting) for waiting in self.queue.values()) + len(self.sending)

    def page(self, status: str | None, channel_id: str | None, limit: int, offset: int) -> tuple[list[Delivery], int]:
        """Newest first, and how many there are. Only the page itself is read: what has not left yet comes from its
        queues, everything else by the index."""
        if status in ("queued", "sending"):
            waiting = sorted(self._under_way(status, channel_id), reverse=True)
            return [self[delivery_id] for delivery_id in waiting[offset : offset + limit]], len(waiting)
        front = _front(channel_id or ANY, status or ANY)
        if status or channel_id:
            ids = [key[len(front) :] for key in newest(self.index, front, front + LAST, offset, limit)]
        else:
            ids = newest(self._children, "", LAST, offset, limit)
        return [self[delivery_id] for delivery_id in ids], self.counts[front]

    def _under_way(self, status: str, channel_id: str | None) -> list[str]:
        if status == "sending":
            return [name for name in self.sending if channel_id in (None, self[name].channel_id)]
        return [name for channel, waiting in self.queue.items() if channel_id in (None, channel) for _, name in waiting]

    def purge(self, before: float) -> bool:
        """A page of what ended long ago; whether there may be more."""
        limit = f"{int(before * 1000):012x}"
        old = list(islice(self._children.keys(None, limit), PAGE))
        gone = [delivery_id for delivery_id in old if self[delivery_id].status not in ("queued", "sending")]
        for delivery_id in gone:
            delivery = self[delivery_id]
            for key in _keys(delivery):
                self.index.remove(key)
            self.counts.add(_front(ANY, ANY), _front(delivery.channel_id, ANY), *_ended(delivery), by=-1)
            del self[delivery_id]
        kept = {
            message_id for delivery_id in old if delivery_id not in gone for message_id in self[delivery_id].messages
        }
        messages = list(islice(self.messages.keys(None, limit), PAGE))
        for message_id in messages:
            if message_id not in kept:
                del self.messages[message_id]
        return len(gone) >= PAGE or len(messages) >= PAGE


class Delivery(Record):
    """/api/notifications/deliveries/{id}: messages on their way to one channel."""

    url = "/api/notifications/deliveries/{delivery_id}"
    taken: tuple[str, ...] = ()  # marks of the channel's recipients that have it
    moved = 0.0  # by which the clock was set since it was told

    def __init__(self, channel_id: str, channel_name: str, kind: str, messages: tuple[str, ...], now: float):
        self.channel_id = channel_id
        self.channel_name = channel_name
        self.kind = kind
        self.messages = messages
        self.status = "queued"
        self.created_at = now
        self.due = now
        self.held: str | None = None  # why it waited at first: quiet_hours, digest
        self.attempts = 0
        self.error: str | None = None
        self.finished_at: float | None = None

    @property
    def id(self) -> str:
        return self.__name__

    def contents(self) -> list[MessageContent]:
        """The messages that are still known."""
        known = self.__parent__.messages
        return [known[message_id].content for message_id in self.messages if message_id in known]

    @property
    def severity(self) -> str:
        return max((message.severity for message in self.contents()), key=rank, default="info")

    def keys_told(self) -> frozenset[str]:
        return frozenset(message.key for message in self.contents())

    @property
    def record(self) -> DeliveryRecord:
        same = ("id", "channel_id", "kind", "status", "held", "attempts", "error", "created_at", "finished_at")
        about = {name: getattr(self, name) for name in same}
        return DeliveryRecord(channel=self.channel_name, due_at=self.due, messages=tuple(self.contents()), **about)


def _front(channel_id: str, status: str) -> str:
    return f"{channel_id}/{status}/"


def _ended(delivery: Delivery) -> tuple[str, str]:
    """Where one that has ended is listed by its status."""
    return _front(ANY, delivery.status), _front(delivery.channel_id, delivery.status)


def _keys(delivery: Delivery) -> list[str]:
    """All keys of a delivery that has ended."""
    return [front + delivery.id for front in (_front(delivery.channel_id, ANY), *_ended(delivery))]


def count_deliveries(root: Root) -> None:
    """An older store has no counts."""
    log = deliveries_of(root)
    log.counts = StoredCounts()
    log.counts.add(_front(ANY, ANY), by=len(log.tree))
    for key in log.index:
        log.counts.add(key[: key.rindex("/") + 1])


def move_rest(root: Root) -> None:
    """Evolve step: what the version before was killed over is moved."""
    log = deliveries_of(root)
    for delivery_id, by in (log.to_move or {}).items():
        log.shift(delivery_id, by)
    log.to_move = None


def timed_id(now: float, taken: OOBTree) -> str:
    """It sorts by time, and behind all that are taken: what was told first is sent first."""
    last = int(taken.maxKey(), 16) if taken else 0
    return f"{max((int(now * 1000) << 32) + secrets.randbits(32), last + 1):020x}"


deliveries_of = ApiPlace[Deliveries]("notifications", "deliveries")
