"""Events from elsewhere: whose token it is, what is kept of what was sent, and which host or monitor it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opsapp.healing.logic.eventforms import FIRING, SentEvent
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.inlets import Inlet, ToldEvent, ToldEvents
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.problems import Unavailable
from opsapp.tree.root import Root

from .fleet_access import fleet_access
from .inventory import Inventory
from .readings import ToldReadings

KEEP_S = 86400.0  # without another word; Alertmanager repeats what goes on after some hours
REPEAT_S = 60.0  # the same again within it is not written
MAPPING = {"host": "instance", "monitor": "monitor"}  # the labels, where an inlet names none


class MadeInlet(NamedTuple):
    inlet: Inlet
    token: str  # shown this once


class Taken(NamedTuple):
    """What came of the events of one call."""

    received: int
    firing: int
    resolved: int
    repeated: int
    unknown_targets: int


class InletStanding(NamedTuple):
    """What an inlet's events say by now."""

    firing: int = 0
    unknown_targets: int = 0  # of those that fire: they are about no host or monitor that is known
    last_event_at: int | None = None


def create(root: Root, name: str, mapping: dict[str, str], by: str, now: float) -> MadeInlet:
    inlets, token = healing_of(root)["inlets"], new_token()
    inlet = inlets[new_id()] = Inlet(name, {**MAPPING, **mapping}, digest(token), by, now)
    inlets.by_digest[inlet.token_digest] = inlet.__name__
    return MadeInlet(inlet, token)


def remove(root: Root, inlet: Inlet) -> None:
    """What it has sent says nothing any more, and is forgotten in its time."""
    healing = healing_of(root)
    healing["inlets"].by_digest.pop(inlet.token_digest, None)
    del healing["inlets"][inlet.__name__]
    healing.told.touch(root)


def inlet_of(root: Root, token: str) -> Inlet | None:
    return healing_of(root)["inlets"].of_token(digest(token))


def take(root: Root, inlet: Inlet, events: Iterable[SentEvent], now: float) -> Taken:
    """Keep the last word about each event. The same word again is written once a minute at most."""
    told, inventory = healing_of(root).told, fleet_access(root).inventory(root)
    is_news = False
    counts = {"received": 0, "firing": 0, "resolved": 0, "repeated": 0, "unknown_targets": 0}
    for sent in events:
        event, key = _event(inlet, sent, now), digest(f"{inlet.__name__} {sent.fingerprint}")[:16]
        counts["received"] += 1
        counts["unknown_targets"] += subject_of(event, inventory) is None
        before = told.get(key)
        is_repeated = before is not None and before._replace(told_at=now) == event
        counts["repeated" if is_repeated else sent.status] += 1
        if before is not None and is_repeated and now - before.told_at < REPEAT_S:
            continue
        if before is None and sent.status != FIRING:
            continue  # it is over, and nobody knew that it had begun
        _keep(told, key, event, is_new=before is None)
        is_news = True
    if is_news:
        told.touch(root)
    return Taken(**counts)


def _keep(told: ToldEvents, key: str, event: ToldEvent, *, is_new: bool) -> None:
    if is_new and told.is_full():
        raise Unavailable("There are too many events from elsewhere; they are forgotten after a day.", retry_after=300)
    told.keep(key, event)


def _event(inlet: Inlet, sent: SentEvent, now: float) -> ToldEvent:
    host, monitor = (sent.labels.get(inlet.mapping[kind], "") for kind in ("host", "monitor"))
    hosts = (host, host.rpartition(":")[0], sent.target)  # Prometheus says `box-1:9100`
    return ToldEvent(inlet.__name__, sent, _names(hosts), _names((monitor, sent.target)), now)


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
    healing, readings = healing_of(root), dict[str, dict[str, ToldReadings]]()
    for key, event in healing.told.items():
        subject = subject_of(event, inventory) if event.inlet_id in healing["inlets"] else None
        if subject is not None:
            readings.setdefault(subject, {})[key] = ToldReadings(_values(event.sent), event.told_at)
    return readings


def standings(root: Root) -> dict[str, InletStanding]:
    """How the inlets that have sent something stand, by id."""
    inventory, standing_by_id = fleet_access(root).inventory(root), dict[str, InletStanding]()
    for _, event in healing_of(root).told.items():
        firing, lost, last = standing_by_id.get(event.inlet_id, InletStanding())
        fires = event.sent.status == FIRING
        is_lost = fires and subject_of(event, inventory) is None
        told_at = max(last or 0, int(event.told_at))
        standing_by_id[event.inlet_id] = InletStanding(firing + fires, lost + is_lost, told_at)
    return standing_by_id


def _values(sent: SentEvent) -> dict[str, str | float]:
    labels = {f"labels.{name}": value for name, value in sent.labels.items()}
    values = {f"values.{name}": value for name, value in sent.values.items()}
    return {"name": sent.name, "status": sent.status, "severity": sent.severity, **labels, **values}


def forget(root: Root, before: float) -> bool:
    """A page of what nobody has said again. Whether there may be more."""
    told = healing_of(root).told
    rows = len(told.rows)
    more = told.forget(before)
    if len(told.rows) < rows:
        told.touch(root)
    return more
