"""Inlets, and what other systems have sent by them. Of a token only the digest is stored. Must not: read bodies
(`logic.eventforms`), decide what an event leads to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf
from typing import Any, NamedTuple

from BTrees.Length import Length
from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.logic.eventforms import FIRING, SentEvent
from opsapp.lib.ids import digest
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.clocks.ages import StoredAges
from opsapp.tree.counted import newest
from opsapp.tree.folder import Facet, Folder, Record
from opsapp.tree.root import Root

from .rules import wake_rule_reader

MOST_OVER = 10_000  # events of one inlet that are over and still listed
PAGE = 250
AGES = StoredAges("healing", "events from elsewhere")


class Inlet(Record):
    """`mapping`: which label names the host, and which the monitor."""

    url = "/api/healing/inlets/{inlet_id}"

    def __init__(self, name: str, mapping: dict[str, str], token_digest: str, by: str, now: float):
        self.name = name
        self.mapping = mapping
        self.token_digest = token_digest
        self.created_by = by
        self.created_at = int(now)

    def change(self, name: str, mapping: dict[str, str]) -> None:
        """Its token stays."""
        self.name, self.mapping = name, mapping

    def describe(self) -> JsonObject:
        return {
            "id": self.__name__,
            "name": self.name,
            "mapping": dict(self.mapping),
            "created_by": self.created_by,
            "created_at": self.created_at,
        }


class Inlets(Folder):
    """/api/healing/inlets. `by_digest`: of a token -> id."""

    url = "/api/healing/inlets"
    holds = "inlet"

    def __init__(self) -> None:
        super().__init__()
        self.by_digest = OOBTree()

    def of_token(self, token_digest: str) -> Inlet | None:
        inlet_id = self.by_digest.get(token_digest)
        return None if inlet_id is None else self.get(inlet_id)


class ToldEvent(NamedTuple):
    """The last word about an event."""

    sent: SentEvent
    told_at: float  # by `AGES`
    incident_id: str | None = None  # the last one that was opened for it, as it is about nothing here
    begun: bool = True  # False: it was over when it was told for the first time


class Refusals(Persistent):
    """`untold`: of which people were not told yet."""

    def __init__(self) -> None:
        self.count = self.untold = 0
        self.last = ""  # why the last one was refused
        self.told_at: float | None = None

    def add(self, count: int, why: str) -> None:
        self.count += count
        self.untold += count
        self.last = why


class EventsOfInlet(Persistent):
    """Keeps an inlet's events by key: all that fire, and the last ones that are over."""

    def __init__(self) -> None:
        self.rows = OOBTree()  # key -> ToldEvent as plain values
        self.by_time = OOTreeSet()  # (told at, key)
        self.over = OOTreeSet()  # the same of those that are over
        self.count = Length()
        self.refusals = Refusals()

    def get(self, key: str) -> ToldEvent | None:
        row = self.rows.get(key)
        return None if row is None else event_of(row)

    def keep(self, key: str, event: ToldEvent) -> None:
        self.drop(key)
        self.rows[key] = (tuple(event.sent), *event[1:])
        self.by_time.add((event.told_at, key))
        if event.sent.status != FIRING:
            self.over.add((event.told_at, key))
        self.count.change(1)
        if self.count() > MOST_OVER and len(self.over) > MOST_OVER:
            self.drop(self.over.minKey()[1])

    def drop(self, key: str) -> None:
        row = self.rows.pop(key, None)
        if row is None:
            return
        place = (event_of(row).told_at, key)
        self.by_time.discard(place)
        self.over.discard(place)
        self.count.change(-1)

    def oldest(self, before: float) -> list[tuple[str, ToldEvent]]:
        """A page."""
        return [(key, event_of(self.rows[key])) for _, key in islice(self.by_time.keys(max=(before,)), PAGE)]

    def newest(self, limit: int | None, offset: int) -> Iterator[ToldEvent]:
        places = newest(self.by_time, None, (inf,), offset, self.count() if limit is None else limit)
        return (event_of(self.rows[key]) for _, key in places)


class ToldEvents(Persistent):
    """`version` grows with each change, for readers."""

    def __init__(self) -> None:
        self.by_inlet = OOBTree()  # inlet id -> EventsOfInlet
        self.left = OOBTree()  # the same of inlets that are deleted, until their incidents are closed
        self.version = 0

    def of(self, inlet_id: str) -> EventsOfInlet:
        if inlet_id not in self.by_inlet:
            self.by_inlet[inlet_id] = EventsOfInlet()
        return self.by_inlet[inlet_id]

    def leave(self, inlet_id: str) -> None:
        """The inlet is gone."""
        events = self.by_inlet.pop(inlet_id, None)
        if events is not None:
            self.left[inlet_id] = events

    def touch(self, root: Root) -> None:
        self.version += 1
        wake_rule_reader(root)


def key_of(event: SentEvent) -> str:
    return digest(event.fingerprint)[:16]


def event_of(row: tuple[Any, ...]) -> ToldEvent:
    """Makes the event of a stored row."""
    sent, *rest = row
    return ToldEvent(SentEvent(*sent), *rest)


class EventAddresses(Facet):
    """/api/healing/events. A wrong token is an address too, which belongs to nobody."""

    url = "/api/healing/events"

    def __getitem__(self, token: str) -> EventAddress:
        return EventAddress(self, token)


class EventAddress(Facet):
    """/api/healing/events/{token}"""

    url = "/api/healing/events/{token}"
