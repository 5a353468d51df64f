"""Bodies with events from elsewhere, judged entry by entry. A small body is stored together with others that come at
the same time; a larger one is read as fast as it is stored, so it takes no memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyramid.request import Request

from opsapp.healing.engine import inlets as engine
from opsapp.healing.engine.inlets import AT_ONCE, LANE, SentEvents
from opsapp.healing.inlet_answers import EventsTaken, RefusedEvent
from opsapp.healing.logic import eventforms
from opsapp.healing.logic.eventforms import SentEvent
from opsapp.healing.resources.inlets import Inlet
from opsapp.lib.jsonpieces import ListedEntries, ListEntry
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Malformed
from opsapp.runtime.node import Node
from opsapp.web.answers import Sink, later
from opsapp.web.asked import UNREAD
from opsapp.web.jsontext import loads
from opsapp.wire.records import plain

PATH = "/api/healing/events/*"
MOST_BYTES = 32 << 20
MOST_OF_EVENT = 256 << 10  # bytes
LONGER = f"is longer than {MOST_OF_EVENT} bytes"
WHOLE = 16 << 10  # bytes of a body that comes whole
PORTION = 64 << 10


class Judged(NamedTuple):
    sent: list[SentEvent]
    refused: list[RefusedEvent]


class EventBody:
    """As they arrive."""

    def __init__(self) -> None:
        self._entries = ListedEntries("alerts", MOST_OF_EVENT)

    def feed(self, data: bytes) -> Judged:
        judged = Judged([], [])
        for entry in self._entries.feed(data):
            self._judge(entry, judged)
        return judged

    def end(self) -> Judged:
        """Only now it is known to be one event in the service's own form, or to break off."""
        judged, entries = Judged([], []), self._entries
        if not entries.has_list:
            if entries.is_too_long and entries.begins_as_json:
                judged.refused.append(RefusedEvent("body", LONGER))
            else:
                self._sort("body", eventforms.of_own(loads(entries.whole())), judged)
        elif not entries.is_over:
            if not entries.count:
                raise Malformed("This is not JSON: it breaks off.", code="malformed_json")
            judged.refused.append(RefusedEvent(self._place(entries.count), "the JSON breaks off here"))
        return judged

    def _judge(self, entry: ListEntry, judged: Judged) -> None:
        place = self._place(entry.place)
        if entry.text is None:
            judged.refused.append(RefusedEvent(place, LONGER))
            return
        try:
            value = loads(entry.text)
        except Malformed as problem:
            judged.refused.append(RefusedEvent(place, problem.message))
            return
        form = eventforms.of_own if self._entries.is_list else eventforms.of_alert
        self._sort(place, form(value), judged)

    def _place(self, number: int) -> str:
        return str(number) if self._entries.is_list else f"alerts.{number}"

    @staticmethod
    def _sort(place: str, event: eventforms.JudgedEvent, judged: Judged) -> None:
        if event.event is None:
            judged.refused.append(RefusedEvent(place, event.why))
        else:
            judged.sent.append(event.event)


def received(request: Request, inlet: Inlet) -> Any:
    length = request.content_length
    if UNREAD in request.environ or length is None or length > WHOLE:
        return Sink(Receiving(request.node, inlet.__name__).receive, limit=MOST_BYTES)
    body = EventBody()
    judged, last = body.feed(request.body), body.end()
    node, now = request.node, request.now
    post = SentEvents(inlet.__name__, judged.sent + last.sent, judged.refused + last.refused, now)
    return later(lambda: plain(engine.take(node, post)))


class Receiving:
    """The connection reads on once a portion is stored."""

    def __init__(self, node: Node, inlet_id: str):
        self._node, self._inlet_id = node, inlet_id
        self._body = EventBody()
        self._taken = EventsTaken()

    def receive(self, body: Any) -> tuple[int, JsonObject, JsonObject]:
        lane = self._node.lane(LANE, 1)
        while portion := _portion(body):
            lane.run(self._take, portion)
        lane.run(self._take, portion)
        return 200, {}, plain(self._taken)

    def _take(self, portion: bytes) -> None:
        """In a thread. Nothing is the end."""
        sent, refused = self._body.feed(portion) if portion else self._body.end()
        for at in range(0, max(len(sent), bool(refused)), AT_ONCE):
            entries, others = sent[at : at + AT_ONCE], refused if at == 0 else []
            post = SentEvents(self._inlet_id, entries, others, self._node.clock.now())
            self._taken = self._taken.plus(engine.take(self._node, post))


def _portion(body: Any) -> bytes:
    """Nothing at the end."""
    pieces, size = [], 0
    while size < PORTION and (piece := body.read(PORTION - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def includeme(config: Any) -> None:
    config.add_sink("POST", PATH, above=WHOLE)
    config.add_own_lane("POST", PATH, LANE)
