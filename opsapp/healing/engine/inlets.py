"""Events from elsewhere: whose token it is, what is kept of what was sent, and what becomes an incident.

An event about a host or monitor is a reading of that (`toldevents`); one about nothing here an incident, until its
sender says that it is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from opsapp.healing.inlet_answers import MOST_NAMED, EventsTaken, RefusedEvent
from opsapp.healing.logic.eventforms import FIRING, SentEvent, is_older
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.inlets import AGES, PAGE, EventsOfInlet, Inlet, Refusals, ToldEvent, key_of
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.problems import NotFound
from opsapp.lib.visible import visible
from opsapp.monitoring.engine import ToldTrouble, close_told, open_told
from opsapp.notify.engine import tell
from opsapp.runtime.families import counter
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.store.groupcommit import GroupCommit
from opsapp.runtime.wakes import after_commit, wake_after_commit
from opsapp.tree.root import Root

from .inventory import Inventory, inventory_of
from .toldevents import subject_of, target_of

QUEUE = "inlets"
LANE = "inlets"
AT_ONCE = 250  # events in one transaction
KEEP_S = 86400.0  # without another word; Alertmanager repeats what goes on after some hours
REPEAT_S = 60.0  # the same again within it is not written
TELL_REFUSED_S = 3600.0
MAPPING = {"host": "instance", "monitor": "monitor"}  # the labels, where an inlet names none
SILENT = "Nobody has said for 24 hours that it goes on."
DELETED = "The inlet that told of it was deleted."


class MadeInlet(NamedTuple):
    inlet: Inlet
    token: str  # shown this once


class SentEvents(NamedTuple):
    """The events of a body, or of a part of it."""

    inlet_id: str
    events: Sequence[SentEvent]
    refused: Sequence[RefusedEvent]
    at: float

    def weight(self) -> int:
        return max(1, len(self.events))


def create(root: Root, name: str, mapping: dict[str, str], by: str, now: float) -> MadeInlet:
    token = new_token()
    return MadeInlet(create_for(root, name, mapping, digest(token), by, now), token)


def create_for(root: Root, name: str, mapping: dict[str, str], token_digest: str, by: str, now: float) -> Inlet:
    """Create an inlet with a token that somebody else has made."""
    inlets = healing_of(root).inlets
    inlet = inlets[new_id()] = Inlet(name, {**MAPPING, **mapping}, token_digest, by, now)
    inlets.by_digest[token_digest] = inlet.__name__
    return inlet


def change_token(root: Root, inlet: Inlet, token_digest: str) -> None:
    inlets = healing_of(root).inlets
    inlets.by_digest.pop(inlet.token_digest, None)
    inlet.token_digest = token_digest
    inlets.by_digest[token_digest] = inlet.__name__


def change(root: Root, inlet: Inlet, name: str | None, mapping: dict[str, str] | None) -> None:
    """Its token stays. What it has sent is about what the new mapping says."""
    inlet.change(name or inlet.name, {**inlet.mapping, **(mapping or {})})
    healing_of(root).told.touch(root)


def remove(root: Root, inlet: Inlet) -> None:
    """What it has sent says nothing any more."""
    healing = healing_of(root)
    healing.inlets.by_digest.pop(inlet.token_digest, None)
    healing.told.leave(inlet.__name__)
    del healing.inlets[inlet.__name__]
    healing.told.touch(root)
    wake_after_commit(root, QUEUE)


def put_back(root: Root, inlet: Inlet) -> None:
    """Its token counts again; what it had sent does not."""
    inlets = healing_of(root).inlets
    inlets[inlet.__name__] = inlet
    inlets.by_digest[inlet.token_digest] = inlet.__name__


def inlet_of(root: Root, token: str) -> Inlet | None:
    return healing_of(root).inlets.of_token(digest(token))


def take_all(root: Root, posts: Sequence[SentEvents]) -> list[EventsTaken | NotFound]:
    inventory = inventory_of(root)  # first: it shows nothing new to a transaction that has written
    return [_take_of(root, inventory, post) for post in posts]


def _take_of(root: Root, inventory: Inventory, post: SentEvents) -> EventsTaken | NotFound:
    inlet = healing_of(root).inlets.get(post.inlet_id)
    if inlet is None:
        return NotFound("There is no such inlet.")
    return _take(root, inventory, inlet, post)


def _take(root: Root, inventory: Inventory, inlet: Inlet, post: SentEvents) -> EventsTaken:
    """The last word about each event. The same again is written once a minute at most."""
    _, events, refused, now = post
    told = healing_of(root).told
    taking = Taking(root, inlet, told.of(inlet.__name__), inventory, now)
    for event in events:
        taking.take(event)
    if taking.is_news:
        told.touch(root)
    if refused:
        taking.events.refusals.add(len(refused), f"{refused[-1].place} {refused[-1].why}")
        _tell_refused(root, inlet, taking.events.refusals, now)
    count_after_commit(root, inlet, len(events), len(refused))
    named, count = tuple(refused[:MOST_NAMED]), len(refused)
    return EventsTaken(**taking.counts, received=len(events) + count, refused=named, refused_count=count)


class Taking:
    def __init__(self, root: Root, inlet: Inlet, events: EventsOfInlet, inventory: Inventory, now: float):
        self._root, self._inlet, self._inventory = root, inlet, inventory
        self._now, self._steady = now, AGES.steady(root, now)
        self.events = events
        self.counts: Counter[str] = Counter()
        self.is_news = False

    def take(self, sent: SentEvent) -> None:
        key = key_of(sent)
        before = self.events.get(key)
        ago = 0.0 if before is None else self._steady - before.told_at
        if before is not None and is_older(sent, before.sent, ago):
            self.counts["older"] += 1
            return
        is_lost = subject_of(sent, self._inlet.mapping, self._inventory) is None
        is_repeated = before is not None and before.sent == sent
        self.counts["unknown_targets"] += is_lost
        self.counts["repeated" if is_repeated else sent.status] += 1
        if not is_repeated or ago >= REPEAT_S:
            self._keep(key, sent, before, is_lost=is_lost)

    def _keep(self, key: str, sent: SentEvent, before: ToldEvent | None, *, is_lost: bool) -> None:
        fires, fired = sent.status == FIRING, before is not None and before.sent.status == FIRING
        incident_id = before.incident_id if before is not None else None
        if fires and not fired:
            incident_id = None  # of an outage that is over
        if fires and is_lost and incident_id is None:
            incident_id = open_told(self._root, self._trouble(sent), self._now)
        elif not fires and fired and incident_id is not None:
            close_told(self._root, incident_id, self._now)
        begun = fires or (before is not None and before.begun)
        self.events.keep(key, ToldEvent(sent, self._steady, incident_id, begun))
        self.is_news = self.is_news or not is_lost  # what is about nothing here is no reading of anything

    def _trouble(self, sent: SentEvent) -> ToldTrouble:
        target = target_of(sent, self._inlet.mapping)
        told = sent.summary, sent.description, sent.severity, sent.links
        return ToldTrouble(self._inlet.__name__, sent.fingerprint, visible(sent.name), visible(target), *told)


def _tell_refused(root: Root, inlet: Inlet, refusals: Refusals, now: float) -> None:
    """Once an hour."""
    at = AGES.steady(root, now)
    if not refusals.untold or (refusals.told_at is not None and at - refusals.told_at < TELL_REFUSED_S):
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
        ids={"inlet": inlet.__name__},
    )
    refusals.untold, refusals.told_at = 0, at


def tell_refused(root: Root, now: float) -> None:
    healing = healing_of(root)
    for inlet_id, inlet in healing.inlets.items():
        if inlet_id in healing.told.by_inlet:
            _tell_refused(root, inlet, healing.told.by_inlet[inlet_id].refusals, now)


def forget(root: Root, now: float) -> bool:
    """A page of what nobody has said again, and of what deleted inlets have sent; whether there may be more. An
    incident is closed with the reason."""
    told, at = healing_of(root).told, AGES.steady(root, now)
    dropped = 0
    for events in told.by_inlet.values():
        dropped = max(dropped, _forget(root, events, at - KEEP_S, now, SILENT))
    for inlet_id, events in list(told.left.items()):
        dropped = max(dropped, _forget(root, events, at + 1, now, DELETED))
        if not events.count():
            del told.left[inlet_id]
    if dropped:
        told.touch(root)
    return dropped == PAGE


def _forget(root: Root, events: EventsOfInlet, before: float, now: float, why: str) -> int:
    page = events.oldest(before)
    for key, event in page:
        events.drop(key)
        if event.incident_id is not None:
            close_told(root, event.incident_id, now, why)
    return len(page)


KEY = "opsapp.healing.inlet_counts"
GROUP = "opsapp.healing.inlet_group"
RESULTS = ("taken", "refused")

Counts = Counter[tuple[str, str]]  # by the inlet's id, and what became of the event


def prepare(node: Node) -> None:
    AGES.carry(node)
    node.registry[KEY] = Counts()
    node.registry[GROUP] = GroupCommit(node, LANE, take_all, most=AT_ONCE, weight=SentEvents.weight)


def take(node: Node, post: SentEvents) -> EventsTaken:
    """Outside of a transaction: stored when this returns, together with what came at the same time."""
    group: GroupCommit[SentEvents] = node.registry[GROUP]
    taken: EventsTaken = group.commit(post)
    return taken


def count_after_commit(root: Root, inlet: Inlet, taken: int, refused: int) -> None:
    counts: Counts = node_of(root).registry[KEY]
    became = dict(zip(RESULTS, (taken, refused), strict=True))
    after_commit(root, counts.update, {(inlet.__name__, result): count for result, count in became.items()})


def figures(root: Root) -> Iterable[Any]:
    """Yield the counts of events under the names that inlets have now."""
    told = "Events from elsewhere since the start."
    events = counter("opsapp_inlet_events", told, labels=["inlet", "name", "result"])
    counts: Counts = node_of(root).registry[KEY]
    for inlet_id, inlet in healing_of(root).inlets.items():
        for result in RESULTS:
            events.add_metric([inlet_id, inlet.name, result], counts[inlet_id, result])
    yield events
