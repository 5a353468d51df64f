"""What events from elsewhere say: which host or monitor each is about, and how it and its inlet stand.

Read-only. Must not: take events (`inlets`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from zope.interface import Interface

from opsapp.healing.inlet_answers import EventRecord, InletRecord
from opsapp.healing.logic.eventforms import FIRING, SentEvent
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.inlets import AGES, EventsOfInlet, Inlet, ToldEvent, event_of, key_of
from opsapp.lib.durations import whole
from opsapp.lib.ids import digest
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.records import made

from .inventory import Inventory, inventory_of
from .readings import ToldReadings


class IToldReader(Interface):
    """Utility: this node's reader of what events from elsewhere say."""


def names_in(sent: SentEvent, mapping: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the host of an event may be called, and what its monitor may."""
    host, monitor = (sent.labels.get(mapping[kind], "") for kind in ("host", "monitor"))
    hosts = (host, host.rpartition(":")[0], sent.target)  # Prometheus says `box-1:9100`
    return _names(hosts), _names((monitor, sent.target))


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def target_of(sent: SentEvent, mapping: Mapping[str, str]) -> str:
    hosts, monitors = names_in(sent, mapping)
    return next(iter((*monitors[:1], *hosts[::-1])), "")


def subject_of(sent: SentEvent, mapping: Mapping[str, str], inventory: Inventory) -> str | None:
    """Return the subject as the live view calls it, or None: nothing that is known, or nobody can tell which."""
    hosts, monitors = names_in(sent, mapping)
    for name in monitors:
        if name in inventory.monitors:
            return inventory.monitors[name]
    for name in hosts:
        member = inventory.agent_named(name)
        if member is not None:
            return member.subject
    return None


def _of_inlets(root: Root) -> Iterator[tuple[Inlet, EventsOfInlet]]:
    healing = healing_of(root)
    by_inlet = healing.told.by_inlet
    return ((inlet, by_inlet[name]) for name, inlet in healing.inlets.items() if name in by_inlet)


class SeenEvent(NamedTuple):
    """An event as it was read last: its row, and what it says of which subject, by which name."""

    row: tuple[Any, ...]
    subject: str | None  # None: it is no reading of anything
    name: str
    told: ToldReadings
    fires: bool


class SeenInlet(NamedTuple):
    """`ahead`: by which the clock was set (`AGES`)."""

    mapping: Mapping[str, str]
    ahead: float
    events: dict[str, SeenEvent]


class ToldReader:
    """What the events of all inlets say. There may be thousands: one whose row is as it was is not made anew."""

    def __init__(self) -> None:
        self._inventory: Inventory | None = None
        self._seen: dict[str, SeenInlet] = {}
        self.made = 0  # how many events were made of their rows so far

    def read(self, root: Root, inventory: Inventory) -> dict[str, dict[str, ToldReadings]]:
        """By subject, and by the event's name."""
        readings = dict[str, dict[str, ToldReadings]]()
        for event in (event for of_inlet in self.seen(root, inventory).values() for event in of_inlet.events.values()):
            if event.subject is not None:
                readings.setdefault(event.subject, {})[event.name] = event.told
        return readings

    def seen(self, root: Root, inventory: Inventory) -> dict[str, SeenInlet]:
        before, ahead = self._seen if inventory is self._inventory else {}, AGES.ahead(root)
        seen = dict[str, SeenInlet]()
        for inlet, events in _of_inlets(root):
            now, known = SeenInlet(inlet.mapping, ahead, {}), before.get(inlet.__name__)
            same = known.events if known is not None and known[:2] == now[:2] else {}
            for key, row in events.rows.items():
                event = same.get(key)
                if event is None or event.row != row:
                    event, self.made = _seen(now, f"{inlet.__name__} {key}", row, inventory), self.made + 1
                now.events[key] = event
            seen[inlet.__name__] = now
        self._inventory, self._seen = inventory, seen
        return seen


def _seen(inlet: SeenInlet, name: str, row: tuple[Any, ...], inventory: Inventory) -> SeenEvent:
    event = event_of(row)
    subject = subject_of(event.sent, inlet.mapping, inventory) if event.begun else None
    told = ToldReadings(_values(event.sent) if subject is not None else {}, event.told_at + inlet.ahead)
    return SeenEvent(row, subject, digest(name)[:16], told, event.sent.status == FIRING)


def _values(sent: SentEvent) -> dict[str, str | float]:
    labels = {_named("labels", name): value for name, value in sent.labels.items()}
    values = {_named("values", name): value for name, value in sent.values.items()}
    return {"name": sent.name, "status": sent.status, "severity": sent.severity, **labels, **values}


@lru_cache(maxsize=4096)
def _named(family: str, name: str) -> str:
    """One string for all events."""
    return f"{family}.{name}"


def shown(root: Root, inlets: Iterable[Inlet]) -> list[InletRecord]:
    """Inlets and how they stand."""
    by_inlet, inventory = healing_of(root).told.by_inlet, inventory_of(root)
    reader: ToldReader = node_of(root).registry.getUtility(IToldReader)
    seen, ahead = reader.seen(root, inventory), AGES.ahead(root)
    return [_shown(inlet, by_inlet.get(inlet.__name__), seen.get(inlet.__name__), ahead) for inlet in inlets]


def _shown(inlet: Inlet, events: EventsOfInlet | None, seen: SeenInlet | None, ahead: float) -> InletRecord:
    record = made(InletRecord, inlet.describe())
    if events is None or seen is None:
        return record
    firing = [event for event in seen.events.values() if event.fires]
    return replace(
        record,
        firing=len(firing),
        unknown_targets=sum(event.subject is None for event in firing),
        last_event_at=int(events.by_time.maxKey()[0] + ahead) if events.by_time else None,
        refused=events.refusals.count,
        last_refusal=events.refusals.last,
    )


class ListedEvents(NamedTuple):
    rows: list[EventRecord]
    total: int


def listed(root: Root, inlet: Inlet, limit: int | None, offset: int) -> ListedEvents:
    """The newest word first."""
    events = healing_of(root).told.by_inlet.get(inlet.__name__)
    if events is None:
        return ListedEvents([], 0)
    inventory, ahead = inventory_of(root), AGES.ahead(root)
    return ListedEvents(
        [_described(event, inlet, inventory, ahead) for event in events.newest(limit, offset)], int(events.count())
    )


def _described(event: ToldEvent, inlet: Inlet, inventory: Inventory, ahead: float) -> EventRecord:
    sent, subject = event.sent, subject_of(event.sent, inlet.mapping, inventory)
    member = None if subject is None else inventory.by_subject.get(subject)
    kind, _, about_id = (subject or "").partition(":")
    told = {
        **sent._asdict(),
        "id": key_of(sent),
        "target": target_of(sent, inlet.mapping),
        "starts_at": whole(sent.starts_at),
        "ends_at": whole(sent.ends_at),
        "told_at": int(event.told_at + ahead),
        "became": "reading" if member is not None else "incident" if event.incident_id else "nothing",
        "about": None if member is None else {"kind": kind, "id": about_id, "name": member.name},
        "incident_id": event.incident_id,
    }
    return made(EventRecord, told)
