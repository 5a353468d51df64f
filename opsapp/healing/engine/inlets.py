"""Events from elsewhere: whose token it is, what is kept of what was sent, and which host or monitor it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opsapp.healing.logic.eventforms import FIRING, SentEvent
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.inlets import MOST_TOLD, PAGE, EventsOfInlet, Inlet, Refusals, ToldEvent
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.problems import NotFound
from opsapp.notify.engine import tell
from opsapp.runtime.projection import readable
from opsapp.tree.root import Root

from . import inletcounts
from .fleet_access import fleet_access
from .inventory import Inventory
from .readings import ToldReadings

KEEP_S = 86400.0  # without another word; Alertmanager repeats what goes on after some hours
REPEAT_S = 60.0  # the same again within it is not written
TELL_REFUSED_S = 3600.0
MOST_NAMED = 50  # refused entries in one answer
FULL = f"is one too many: {MOST_TOLD} other events of this inlet fire"
MAPPING = {"host": "instance", "monitor": "monitor"}  # the labels, where an inlet names none


class MadeInlet(NamedTuple):
    inlet: Inlet
    token: str  # shown this once


class RefusedEvent(NamedTuple):
    """An entry of a body that is no event: where it stands there, and why it is none."""

    place: str
    why: str


class SentEntry(NamedTuple):
    """An entry of a body that is an event."""

    place: str
    event: SentEvent


class Taken(NamedTuple):
    """What came of the entries of a body, or of some of them."""

    received: int = 0
    firing: int = 0
    resolved: int = 0
    repeated: int = 0
    unknown_targets: int = 0
    refused: tuple[RefusedEvent, ...] = ()  # the first of them
    refused_count: int = 0

    def plus(self, more: Taken) -> Taken:
        return Taken(
            self.received + more.received,
            self.firing + more.firing,
            self.resolved + more.resolved,
            self.repeated + more.repeated,
            self.unknown_targets + more.unknown_targets,
            (self.refused + more.refused)[:MOST_NAMED],
            self.refused_count + more.refused_count,
        )


class InletStanding(NamedTuple):
    """What an inlet's events say by now."""

    firing: int = 0
    unknown_targets: int = 0  # of those that fire: they are about no host or monitor that is known
    last_event_at: int | None = None
    refused: int = 0  # of all that it ever sent
    last_refusal: str = ""


def create(root: Root, name: str, mapping: dict[str, str], by: str, now: float) -> MadeInlet:
    inlets, token = healing_of(root)["inlets"], new_token()
    inlet = inlets[new_id()] = Inlet(name, {**MAPPING, **mapping}, digest(token), by, now)
    inlets.by_digest[inlet.token_digest] = inlet.__name__
    return MadeInlet(inlet, token)


def remove(root: Root, inlet: Inlet) -> None:
    """What it has sent says nothing any more."""
    healing = healing_of(root)
    healing["inlets"].by_digest.pop(inlet.token_digest, None)
    healing.told.by_inlet.pop(inlet.__name__, None)
    del healing["inlets"][inlet.__name__]
    healing.told.touch(root)


def inlet_of(root: Root, token: str) -> Inlet | None:
    return healing_of(root)["inlets"].of_token(digest(token))


def take_of(
    root: Root, inlet_id: str, entries: Sequence[SentEntry], refused: Sequence[RefusedEvent], now: float
) -> Taken:
    """The same as `take`, in a transaction of its own."""
    inlet = healing_of(root)["inlets"].get(inlet_id)
    if inlet is None:
        raise NotFound("There is no such inlet.")
    return take(root, inlet, entries, refused, now)


def take(root: Root, inlet: Inlet, entries: Sequence[SentEntry], refused: Sequence[RefusedEvent], now: float) -> Taken:
    """Keep the last word about each event. The same word again is written once a minute at most."""
    told, inventory = healing_of(root).told, fleet_access(root).inventory(root)
    events = told.of(inlet.__name__)
    is_news = False
    refusals = list(refused)
    counts = Counter(received=len(entries) + len(refused))
    for place, sent in entries:
        event, key = _event(inlet, sent, now), digest(sent.fingerprint)[:16]
        before = events.get(key)
        if before is None and sent.status == FIRING and not events.make_room():
            refusals.append(RefusedEvent(place, FULL))
            continue
        counts["unknown_targets"] += subject_of(event, inventory) is None
        is_repeated = before is not None and before._replace(told_at=now) == event
        counts["repeated" if is_repeated else sent.status] += 1
        if before is not None and is_repeated and now - before.told_at < REPEAT_S:
            continue
        if before is None and sent.status != FIRING:
            continue  # it is over, and nobody knew that it had begun
        events.keep(key, event)
        is_news = True
    if is_news:
        told.touch(root)
    if refusals:
        events.refusals.add(len(refusals), f"{refusals[-1].place} {refusals[-1].why}")
        _tell_refused(root, inlet, events.refusals, now)
    inletcounts.count_after_commit(root, inlet, len(entries) + len(refused) - len(refusals), len(refusals))
    return Taken(**counts, refused=tuple(refusals[:MOST_NAMED]), refused_count=len(refusals))


def _tell_refused(root: Root, inlet: Inlet, refusals: Refusals, now: float) -> None:
    """Once an hour."""
    if not refusals.untold or (refusals.told_at is not None and now - refusals.told_at < TELL_REFUSED_S):
        return
    entries = "1 entry" if refusals.untold == 1 else f"{refusals.untold} entries"
    tell(
        root,
        now,
        key=f"inlet:{inlet.__name__}",
        kind="inlet.refused",
        severity="warning",
        title=f"{inlet.name} sends what is no event",
        text=f"{entries} of what it sent could not be taken. The last one: {refusals.last}",
        tags=("healing",),
    )
    refusals.untold, refusals.told_at = 0, now


def tell_refused(root: Root, now: float) -> None:
    """What was refused since people were told last."""
    healing = healing_of(root)
    for inlet_id, inlet in readable(healing["inlets"], "inlet"):
        if inlet_id in healing.told.by_inlet:
            _tell_refused(root, inlet, healing.told.by_inlet[inlet_id].refusals, now)


def _event(inlet: Inlet, sent: SentEvent, now: float) -> ToldEvent:
    host, monitor = (sent.labels.get(inlet.mapping[kind], "") for kind in ("host", "monitor"))
    hosts = (host, host.rpartition(":")[0], sent.target)  # Prometheus says `box-1:9100`
    return ToldEvent(sent, _names(hosts), _names((monitor, sent.target)), now)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def subject_of(event: ToldEvent, inventory: Inventory) -> str | None:
    """The monitor or the host that an event is about, as the live view calls it; None: it is about none that is known,
    or nobody can tell which."""
    for name in event.monitors:
        if name in inventory.monitors:
            return inventory.monitors[name]
    for name in event.hosts:
        member = inventory.named(name)
        if member is not None and member.is_agent and not member.ambiguous:
            return member.subject
    return None


def readings_of(root: Root, inventory: Inventory) -> dict[str, dict[str, ToldReadings]]:
    """What the events of all inlets say, by the host or monitor that they are about."""
    readings = dict[str, dict[str, ToldReadings]]()
    for inlet_id, events in healing_of(root).told.by_inlet.items():
        for key, event in events.items():
            subject = subject_of(event, inventory)
            if subject is not None:
                told = ToldReadings(_values(event.sent), event.told_at)
                readings.setdefault(subject, {})[digest(f"{inlet_id} {key}")[:16]] = told
    return readings


def standings(root: Root) -> dict[str, InletStanding]:
    """How the inlets that have sent something stand, by id."""
    inventory = fleet_access(root).inventory(root)
    return {inlet_id: _standing(events, inventory) for inlet_id, events in healing_of(root).told.by_inlet.items()}


def _standing(events: EventsOfInlet, inventory: Inventory) -> InletStanding:
    firing = [event for _, event in events.items() if event.sent.status == FIRING]
    lost = sum(subject_of(event, inventory) is None for event in firing)
    last = int(events.by_time.maxKey()[0]) if events.by_time else None
    return InletStanding(len(firing), lost, last, events.refusals.count, events.refusals.last)


def _values(sent: SentEvent) -> dict[str, str | float]:
    labels = {f"labels.{name}": value for name, value in sent.labels.items()}
    values = {f"values.{name}": value for name, value in sent.values.items()}
    return {"name": sent.name, "status": sent.status, "severity": sent.severity, **labels, **values}


def forget(root: Root, before: float) -> bool:
    """A page of what nobody has said again. Whether there may be more."""
    told = healing_of(root).told
    dropped = [events.forget(before) for events in told.by_inlet.values()]
    if any(dropped):
        told.touch(root)
    return PAGE in dropped
