"""Rows leave, a batch at a time: claimed, handed over, the outcome stored. Who dies in between leaves claimed rows,
which are sent again under the same id: at least once, and at most one batch twice (and webhooks that had not
answered)."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from opsapp.lib.pagenames import MAIN
from opsapp.notify.engine import NotificationSettings, denied_networks, retry_at
from opsapp.runtime import leases
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.queue import until_stored
from opsapp.statuspages.logic import letters
from opsapp.statuspages.logic.addresses import MAIL
from opsapp.statuspages.logic.audience import Audience
from opsapp.statuspages.logic.letters import MessageWords, NewsItem
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.statuspages.resources import CONFIRM, Queue, StatusPageStore, Subscriber, store_of, token_of
from opsapp.tree.root import Root

from .letter import LetterCarrier, PageLetter, PageSender, Posted
from .settings import LEASE, offered
from .subscriptions import LEAVE

log = logging.getLogger(__name__)


class LetterBatch(NamedTuple):
    sender: PageSender
    letters: list[PageLetter]
    empty: list[str]  # rows about which nobody is to be told any more


def step(node: Node, kind: str, carrier: LetterCarrier) -> bool:
    """Hand over what is due, and store what has ended. Whether there was any."""
    now, room = node.clock.now(), carrier.room()
    batch: LetterBatch | None = None
    if room > 0 and node.transact(partial(anything, kind), now, carrier.under_way()):
        batch = node.transact(begin, kind, now, room, carrier.under_way())
    if batch is not None and batch.letters:
        carrier.carry(batch.sender, batch.letters, now)
    outcomes, empty = carrier.ended(), batch.empty if batch is not None else []
    if outcomes or empty:
        _say(kind, outcomes)
        try:
            until_stored(node, finish, kind, outcomes, empty, node.clock.now())
        finally:
            carrier.forget([posted.row for posted in outcomes])
    return batch is not None or bool(outcomes)


def _say(kind: str, outcomes: list[Posted]) -> None:
    for posted in outcomes:
        if posted.error is not None and posted.tried:
            log.warning("status page message not taken row=%s kind=%s", posted.row, kind)
    waiting = [posted.error for posted in outcomes if not posted.tried]
    if waiting:
        log.warning("status page messages wait kind=%s count=%d: %s", kind, len(waiting), waiting[0])


def anything(kind: str, root: Root, now: float, under_way: Collection[str] = ()) -> bool:
    """A look that costs nothing."""
    queue = store_of(root).queues[kind]
    left = any(row not in under_way for row in queue.owners)
    return left or any(queue.agenda(row).due(now, 1) for row in (CONFIRM, ""))


def move(root: Root, by: float) -> None:
    """What is tried again has as long to wait as before."""
    leases.check(root, LEASE)
    for queue in store_of(root).queues.values():
        queue.move(by)


def begin(root: Root, kind: str, now: float, room: int, under_way: Collection[str]) -> LetterBatch | None:
    """The intent: rows taken and claimed. Confirmations come before everything else."""
    leases.check(root, LEASE)
    node, store = node_of(root), store_of(root)
    queue, options = store.queues[kind], node_of(root).config[StatusPageSettings]
    for row in [row for row in queue.owners if row not in under_way]:
        queue.claims.release(row)  # of a process, or a step, that did not come to its end
        queue.agenda(row).add(now, row)
    if kind not in offered(root, store.page):
        return None
    rows = [row for _, row in queue.agenda(CONFIRM).take(now, room)]
    rows += [row for _, row in queue.agenda("").take(now, room - len(rows))]
    batch = LetterBatch(_sender(root, node, options, kind), [], [])
    writer = LetterWriter(root, store, batch.sender, node, now)
    for row in rows:
        queue.claims.claim(row, node.owner)
        letter = writer.letter(row)
        if letter is None:
            batch.empty.append(row)
        else:
            batch.letters.append(letter)
    return batch if rows else None


def _sender(root: Root, node: Node, options: StatusPageSettings, kind: str) -> PageSender:
    store = store_of(root)
    page, server = store.page, (store.mail_address(root) if kind == MAIL else None) or ""
    base = (page.public_url or "").rstrip("/")
    return PageSender(page.name, base, page.mail_from or "", server, options.timeout_s, denied_networks(node))


class LetterWriter:
    """Writes the letters of one batch; the same words to all who chose the same groups are written once."""

    def __init__(self, root: Root, store: StatusPageStore, sender: PageSender, node: Node, now: float):
        self._root, self._store, self._sender, self._zone = root, store, sender, node.config.timezone
        self._oldest = now - node.config[NotificationSettings].retry.for_s
        self._audience = Audience(MAIN, store.page.groups)
        self._known: dict[tuple[str, tuple[str, ...]], tuple[MessageWords, tuple[NewsItem, ...]] | None] = {}

    def letter(self, row: str) -> PageLetter | None:
        told, _, subscriber_id = row.partition("/")
        subscriber = self._store.subscribers.get(subscriber_id)
        if subscriber is None:
            return None
        if told == CONFIRM:
            return self._confirmation(row, subscriber_id, subscriber)
        known = self._news(told, subscriber.groups)
        if known is None:
            return None
        words, items = known
        leave = self._link(LEAVE, subscriber_id, subscriber)
        return PageLetter(row, subscriber.address(self._root), words, leave, items=items)

    def _confirmation(self, row: str, subscriber_id: str, subscriber: Subscriber) -> PageLetter | None:
        to, page = subscriber.address(self._root), self._sender.page
        if subscriber.confirmed_at is None:
            token = token_of(self._root, CONFIRM, subscriber_id, subscriber)
            link = f"{self._sender.base}/status/confirm/{token}"
            return PageLetter(row, to, letters.confirmation(page, link), challenge=token)
        if subscriber.kind != MAIL:
            return None
        return PageLetter(row, to, letters.known_already(page), self._link(LEAVE, subscriber_id, subscriber))

    def _news(self, told: str, wanted: tuple[str, ...]) -> tuple[MessageWords, tuple[NewsItem, ...]] | None:
        key = (told, wanted)
        if key not in self._known:
            announcement = self._store.announcements.get(told)
            items = [] if announcement is None or announcement.at < self._oldest else announcement.items
            items = [item for item in items if self._audience.hears(wanted, item)]
            words = letters.news(self._sender.page, items, self._sender.base, self._zone) if items else None
            self._known[key] = None if words is None else (words, tuple(items))
        return self._known[key]

    def _link(self, purpose: str, subscriber_id: str, subscriber: Subscriber) -> str:
        token = token_of(self._root, purpose, subscriber_id, subscriber)
        return f"{self._sender.base}/status/unsubscribe/{token}"


def finish(root: Root, kind: str, outcomes: list[Posted], empty: list[str], now: float) -> None:
    store, owner = store_of(root), node_of(root).owner
    queue = store.queues[kind]
    for row in empty:
        if queue.owners.get(row) == owner:
            queue.claims.release(row)
            queue.attempts.pop(row, None)
    for posted in outcomes:
        if queue.owners.get(posted.row) == owner:  # nobody has taken it over meanwhile
            _end(root, store, queue, posted, now)


def _end(root: Root, store: StatusPageStore, queue: Queue, posted: Posted, now: float) -> None:
    queue.claims.release(posted.row)
    if not posted.tried:
        queue.agenda(posted.row).add(now, posted.row)
        return
    told, _, subscriber_id = posted.row.partition("/")
    subscriber = store.subscribers.get(subscriber_id)
    if subscriber is None or posted.error is None:
        queue.attempts.pop(posted.row, None)
        if subscriber is not None:
            _arrived(store, subscriber_id, subscriber, told, now)
        return
    attempts, since = queue.attempts.get(posted.row, (0, now))
    again = (
        None if posted.final else retry_at(attempts + 1, since, now, node_of(root).config[NotificationSettings].retry)
    )
    if again is None:
        queue.attempts.pop(posted.row, None)
        subscriber.failures += 1
    else:
        queue.attempts[posted.row] = (attempts + 1, since)
        queue.agenda(posted.row).add(again, posted.row)


def _arrived(store: StatusPageStore, subscriber_id: str, subscriber: Subscriber, told: str, now: float) -> None:
    if subscriber.failures:
        subscriber.failures = 0
    if told == CONFIRM and subscriber.kind != MAIL and subscriber.confirmed_at is None:
        store.confirm(subscriber_id, now)
