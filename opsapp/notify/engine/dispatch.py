"""Deliveries leave: intent committed, the message handed over in a thread of its own, outcome committed.

A channel has one message in flight, and beside a less severe one a critical one, which never waits for it. What hangs
is counted as failed when its time is up and holds up its own lane alone; so there are never more threads than
`max_sending`, one for each lane that hangs, and one for each channel with a critical message. A process that dies
between intent and outcome leaves a delivery that the next one sends again: at least once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple

from zope.interface import Interface

from opsapp.lib.problems import Conflict, Unavailable, UpstreamFailed
from opsapp.notify.interfaces import IPageAddresses
from opsapp.notify.logic import destinations, documents, rank, texts
from opsapp.notify.logic.adapting import Buttons, Journey
from opsapp.notify.logic.reasons import reason_of
from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.resources import Channel, Deliveries, Delivery, channels_of, deliveries_of
from opsapp.notify.resources.confidential import opened
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.queue import until_stored
from opsapp.runtime.secrets.seals import seal_of
from opsapp.tree.root import Root

from . import courier
from .answers import buttons_of
from .courier import OutgoingMessage, SendOutcome
from .routes import PIECES
from .settings import LEASE, options

log = logging.getLogger(__name__)

CRITICAL = "critical"
MERGED_AT_ONCE = 500
TEST_IS_OVER_S = 3600.0


class ISender(Interface):
    """Utility: this node's sender."""


class ChannelLane(NamedTuple):
    """Where one message of a channel is in flight: what is critical, or anything else."""

    channel_id: str
    critical: bool

    @property
    def worst(self) -> str:
        """The highest severity in it."""
        return CRITICAL if self.critical else "warning"


Flight = tuple[ChannelLane, OutgoingMessage]  # a message in its lane


class Sender:
    """`late` holds the lanes whose thread hangs."""

    def __init__(self, node: Node):
        self.node = node
        self.flying: set[ChannelLane] = set()
        self.late: set[ChannelLane] = set()
        self.testing: set[str] = set()
        self.sent = self.failed = self.waiting = 0

    def step(self) -> bool:
        """Send as far as there is room, and say whether anything left."""
        settings, now = options(self.node), self.node.clock.now()
        room = settings.max_sending - len(self.flying - self.late)
        letters, self.waiting = self.node.transact(begin, now, frozenset(self.flying), room)
        for lane, _ in letters:
            self.flying.add(lane)
        for lane, letter in letters:
            self.node.spawn(self._fly, lane, letter, settings.timeout_s)
        return bool(letters)

    def _fly(self, lane: ChannelLane, letter: OutgoingMessage, timeout: float) -> None:
        outcome = courier.send(self.node, letter, timeout, lambda: self._landed(lane))
        if outcome.late and lane in self.flying:
            self.late.add(lane)
        self._count(outcome)
        if outcome.error is not None:
            log.warning("notification not sent channel=%s: %s", letter.channel_id, outcome.error)
        until_stored(self.node, finish, letter.delivery_id, outcome, self.node.clock.now())
        self.node.wake("notify-sending")

    def _landed(self, lane: ChannelLane) -> None:
        self.flying.discard(lane)
        self.late.discard(lane)
        self.node.wake("notify-sending")

    def _count(self, outcome: SendOutcome) -> None:
        if outcome.error is None:
            self.sent += 1
        else:
            self.failed += 1

    def test(self, letter: OutgoingMessage) -> None:
        """What `begin_test` prepared, outside any transaction: now, whatever the channel's hours are."""
        if letter.channel_id in self.testing:
            self.node.transact(
                finish, letter.delivery_id, SendOutcome("another test is under way"), self.node.clock.now()
            )
            raise Conflict("Another test of this channel is under way.", code="test_under_way")
        self.testing.add(letter.channel_id)
        outcome = courier.send(
            self.node, letter, options(self.node).timeout_s, lambda: self.testing.discard(letter.channel_id)
        )
        self.node.transact(finish, letter.delivery_id, outcome, self.node.clock.now())
        self._count(outcome)
        if outcome.error is not None:
            raise UpstreamFailed(
                f"The test message was not accepted. {reason_of(outcome.error)}",
                code="not_delivered",
                extra={"reason": outcome.error, "delivery_id": letter.delivery_id},
            )


# -- transactions ----------------------------------------------------------------------------------------------------


def anything(root: Root) -> bool:
    """Whether there are deliveries that have not left yet."""
    return bool(deliveries_of(root).queue or deliveries_of(root).sending)


def begin(root: Root, now: float, busy: Collection[ChannelLane], room: int) -> tuple[list[Flight], int]:
    """Deliveries of lanes that are not busy, marked as being sent: all that are critical, and others as far as there
    is room; and how many wait in all."""
    log_of = deliveries_of(root)
    if not anything(root):
        return [], 0
    leases.check(root, LEASE)
    if PIECES.goes_on(root):  # a node was killed while it moved them with the clock: none leaves at its old time
        return [], log_of.waiting()
    _take_back(root, now)
    letters: list[Flight] = []
    for lane in (ChannelLane(channel_id, critical) for critical in (True, False) for channel_id in list(log_of.queue)):
        flying = {*busy, *(begun for begun, _ in letters)}
        beside = {lane} if lane.critical else {lane, lane._replace(critical=True)}
        if not flying.isdisjoint(beside) or not (lane.critical or len(letters) < room):
            continue
        letter = _begun(root, lane, now)
        if letter is not None:
            letters.append((lane, letter))
    return letters, log_of.waiting()


def _begun(root: Root, lane: ChannelLane, now: float) -> OutgoingMessage | None:
    """The lane's next message with its intent; None if there is none."""
    log_of, node = deliveries_of(root), node_of(root)
    delivery = _next(root, lane, now, options(node).burst)
    if delivery is None:
        return None
    log_of.begin(delivery, node.owner)
    try:
        return _letter(root, channels_of(root)[lane.channel_id], delivery)
    except Unavailable as closed:  # without the master key nobody knows where it goes: others still go
        _not_taken(root, delivery, closed.message, now)
        return None


def _take_back(root: Root, now: float) -> None:
    """What a process that is gone was sending: whether it arrived nobody knows, so it is sent again."""
    log_of, own = deliveries_of(root), node_of(root).owner
    for delivery in [log_of[name] for name in log_of.claims.abandoned({own})]:
        if delivery.kind == "test":
            if delivery.created_at < now - TEST_IS_OVER_S:  # any node may send one, and none is sent again
                log_of.end(delivery, "failed", now, "the process ended while it was sent")
        else:
            delivery.error = "the process ended while it was sent"
            log_of.wait(delivery, now)


def _next(root: Root, lane: ChannelLane, now: float, burst: int) -> Delivery | None:
    """What is due longest, or, when many are due or were held back, all of them as one. One that has been passed by
    what was told later of the same thing goes with that, so that the end of a story never comes before its beginning;
    and what nobody ever takes holds up nothing else."""
    log_of, channel = deliveries_of(root), channels_of(root).get(lane.channel_id)
    if channel is None or not channel.record.enabled:
        for delivery in log_of.due(lane.channel_id, now, MERGED_AT_ONCE):
            log_of.end(delivery, "dropped", now, "the channel is gone" if channel is None else "the channel is off")
        return None
    rests = channel.rests_until > now
    if rests and rank(lane.worst) <= rank(channel.rests_for):
        return None
    due = log_of.due(lane.channel_id, now, MERGED_AT_ONCE)
    due = [delivery for delivery in due if (delivery.severity == CRITICAL) is lane.critical]
    if rests:
        due = [delivery for delivery in due if _goes_all_the_same(delivery, channel)]
    if not due:
        return None
    if len(due) > 1 and (len(due) > burst or any(delivery.held for delivery in due)):
        return _merged(log_of, due, now)
    passed = log_of.passed_by(due[0], MERGED_AT_ONCE)
    return _merged(log_of, [*passed, due[0]], now) if passed else due[0]


def _goes_all_the_same(delivery: Delivery, channel: Channel) -> bool:
    """A channel that rests after a failure takes a first attempt for what is more severe than what had failed."""
    return not delivery.attempts and rank(delivery.severity) > rank(channel.rests_for)


def _merged(log_of: Deliveries, several: list[Delivery], now: float) -> Delivery:
    """One delivery with the messages of all, as they were told. It is the youngest, so that nothing is given up too
    soon."""
    *others, last = sorted(several, key=lambda delivery: delivery.id)
    last.messages = tuple(message_id for delivery in (*others, last) for message_id in delivery.messages)
    last.kind, last.taken = "digest", ()
    for delivery in others:
        log_of.end(delivery, "merged", now)
    return last


def _letter(root: Root, channel: Channel, delivery: Delivery) -> OutgoingMessage:
    node = node_of(root)
    pairs = [opened(root, message) for message in delivery.contents()]
    messages, links_of = [message for message, _ in pairs], _links_in(root, channel)
    title, text, mood = texts.written(messages, node.config.timezone, links_of)
    document = documents.documented(delivery.id, messages, text, links_of)
    answers = tuple(answer for message in messages for answer in links_of(message).answers)
    buttons = Buttons(title, text, answers) if len(messages) == 1 and answers else None
    journey = Journey(mood, document.links.get("page"), document, buttons)
    secrets = [secret for _, secrets_in in pairs for secret in secrets_in] + [answer.token for answer in answers]
    return OutgoingMessage(
        delivery.id, channel.id, channel.address(seal_of(root)), title, text, journey, tuple(secrets), delivery.taken
    )


def _links_in(root: Root, channel: Channel) -> texts.LinksOf:
    """Made once: text, document and buttons have the same, and so has what is kept out of errors."""
    addresses, made = node_of(root).registry.queryUtility(IPageAddresses), dict[int, texts.MessageLinks]()

    def links_of(message: MessageContent) -> texts.MessageLinks:
        if id(message) not in made:
            page = addresses(message.kind, message.ids) if addresses is not None else None
            made[id(message)] = texts.MessageLinks(page, buttons_of(root, channel, message))
        return made[id(message)]

    return links_of


def finish(root: Root, delivery_id: str, outcome: SendOutcome, now: float) -> None:
    """It has arrived, is tried again later, or is given up."""
    log_of = deliveries_of(root)
    delivery = log_of.get(delivery_id)
    if delivery is None or delivery.status != "sending":
        return
    PIECES.settle(root, "deliveries", delivery_id)
    if outcome.error is not None:
        delivery.taken = outcome.taken or delivery.taken
        _not_taken(root, delivery, outcome.error, now)
        return
    channel = channels_of(root).get(delivery.channel_id)
    if channel is not None:
        channel.last, channel.rests_until = {**channel.last, "sent_at": int(now), "error": None}, 0.0
    log_of.end(delivery, "sent", now)


def _not_taken(root: Root, delivery: Delivery, error: str, now: float) -> None:
    """Once more later, or given up."""
    log_of, channel = deliveries_of(root), channels_of(root).get(delivery.channel_id)
    if channel is not None:
        channel.last, channel.rests_until = {**channel.last, "failed_at": int(now), "error": error}, 0.0
    retry = options(node_of(root)).retry
    again = destinations.retry_at(delivery.attempts, delivery.created_at + delivery.moved, now, retry)
    if delivery.kind == "test" or again is None:
        log_of.end(delivery, "failed", now, error)
        return
    delivery.error = error
    log_of.wait(delivery, again)
    if channel is not None:  # its other messages do not come sooner, but for what is more severe
        PIECES.settle(root, "rests", channel.id)
        channel.rests_until, channel.rests_for = again, delivery.severity


def begin_test(root: Root, channel: Channel, by: str, now: float) -> OutgoingMessage:
    """The intent, in the transaction of whoever asks for it."""
    log_of, node = deliveries_of(root), node_of(root)
    text = f"{by} has asked for it. Channel: {channel.record.name}"
    about = (f"test:{channel.id}", "test", "info", "Test message from opsapp", text)
    content = MessageContent(*about, first_at=now, last_at=now, ids={"channel": channel.id})
    message_id = log_of.add_message(content, now)
    delivery = Delivery(channel.id, channel.record.name, "test", (message_id,), now)
    log_of.put(delivery, now)
    log_of.begin(delivery, node.owner)
    return _letter(root, channel, delivery)
