"""Inlets, by which other systems send events, and what they have sent: /api/healing/inlets, /api/healing/events.

Of a token only the digest is stored. Must not: read bodies (`logic.eventforms`), decide what an event leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.logic.eventforms import SentEvent
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.folder import Facet, Folder, Record
from opsapp.tree.root import Root

from .rules import wake_rule_reader

MOST_TOLD = 10_000
PAGE = 500


class Inlet(Record):
    """A token that another system sends events with. `mapping`: which label names the host, and which the monitor."""

    url = "/api/healing/inlets/{inlet_id}"

    def __init__(self, name: str, mapping: dict[str, str], token_digest: str, by: str, now: float):
        self.name = name
        self.mapping = mapping
        self.token_digest = token_digest
        self.created_by = by
        self.created_at = int(now)

    def describe(self) -> JsonObject:
        return {
            "id": self.__name__,
            "name": self.name,
            "mapping": dict(self.mapping),
            "created_by": self.created_by,
            "created_at": self.created_at,
        }


class Inlets(Folder):
    """/api/healing/inlets. `by_digest`: digest of a token -> id."""

    url = "/api/healing/inlets"

    def __init__(self) -> None:
        super().__init__()
        self.by_digest = OOBTree()

    def of_token(self, token_digest: str) -> Inlet | None:
        inlet_id = self.by_digest.get(token_digest)
        return None if inlet_id is None else self.get(inlet_id)


class ToldEvent(NamedTuple):
    """The last word of another system about one event."""

    inlet_id: str
    sent: SentEvent
    hosts: tuple[str, ...]  # what the host may be called
    monitors: tuple[str, ...]
    told_at: float


class ToldEvents(Persistent):
    """Events by key. `version` grows with each change, so that a reader knows when to read them again."""

    def __init__(self) -> None:
        self.rows = OOBTree()  # key -> ToldEvent as plain values
        self.by_time = OOTreeSet()  # (told at, key)
        self.version = 0

    def get(self, key: str) -> ToldEvent | None:
        row = self.rows.get(key)
        return None if row is None else _event(row)

    def items(self) -> Iterator[tuple[str, ToldEvent]]:
        return ((key, _event(row)) for key, row in self.rows.items())

    def is_full(self) -> bool:
        return len(self.rows) >= MOST_TOLD

    def keep(self, key: str, event: ToldEvent) -> None:
        self.drop(key)
        self.rows[key] = (event.inlet_id, tuple(event.sent), event.hosts, event.monitors, event.told_at)
        self.by_time.add((event.told_at, key))

    def drop(self, key: str) -> None:
        before = self.rows.pop(key, None)
        if before is not None:
            self.by_time.discard((before[-1], key))

    def forget(self, before: float) -> bool:
        """A page of those that were told last before then. Whether there may be more."""
        page = list(islice(self.by_time.keys(max=(before,)), PAGE))
        for _, key in page:
            self.drop(key)
        return len(page) == PAGE

    def touch(self, root: Root) -> None:
        self.version += 1
        wake_rule_reader(root)


def _event(row: tuple[Any, ...]) -> ToldEvent:
    inlet_id, sent, hosts, monitors, told_at = row
    return ToldEvent(inlet_id, SentEvent(*sent), hosts, monitors, told_at)


class EventAddresses(Facet):
    """/api/healing/events. The token is in the path; a wrong one is an address too, which belongs to nobody."""

    url = "/api/healing/events"

    def __getitem__(self, token: str) -> EventAddress:
        return EventAddress(self, token)


class EventAddress(Facet):
    """/api/healing/events/{token}"""

    url = "/api/healing/events/{token}"
