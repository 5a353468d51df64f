"""Sends rows of the queues, one batch at a time: claims them, hands them over, stores the outcome. If the process ends
in between, the claimed rows are sent again under the same id: at least once, and at most one batch twice (and webhooks
that had not answered)."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from opsapp.notify.engine import NotificationSettings, denied_networks, retry_at
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.queue import until_stored
from opsapp.statuspages.logic import letters
from opsapp.statuspages.logic.addresses import MAIL
from opsapp.statuspages.logic.letters import MessageWords, NewsItem
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.statuspages.resources import CONFIRM, Queue, StatusPageStore, Subscriber, store_of, token_of
from opsapp.tree.root import Root

from .audiences import SubscribedPage, subscribed_pages
from .clockmoves import ATTEMPTS, PIECES
from .letter import LetterCarrier, PageLetter, PageSender, Posted
from .settings import LEASE
from .subscriptions import LEAVE

log = logging.getLogger(__name__)
NOT_OFFERED_S = 60.0


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
    left = PIECES.is_left(root) or any(row not in under_way for row in queue.owners)
    return left or any(queue.agenda(row).due(now, 1) for row in (CONFIRM, ""))


def begin(root: Root, kind: str, now: float, room: int, under_way: Collection[str]) -> LetterBatch | None:
    """The intent: rows taken and claimed. Confirmations come before everything else."""
    leases.check(root, LEASE)
    node, store = node_of(root), store_of(root)
    queue, options = store.queues[kind], node_of(root).config[StatusPageSettings]
    batch = LetterBatch(_sender(root, node, options, kind), [], [])
    if PIECES.goes_on(root):  # a node was killed while it moved them with the clock
        return batch
    for row in [row for row in queue.owners if row not in under_way]:
        queue.claims.release(row)  # of a process, or a step, that did not come to its end
        queue.agenda(row).add(now, row)
    pages = subscribed_pages(root)
    if not any(kind in page.offers for page in pages.values()):
        return None
    rows = [row for _, row in queue.agenda(CONFIRM).take(now, room)]
    rows += [row for _, row in queue.agenda("").take(now, room - len(rows))]
    writer = LetterWriter(root, store, pages, node, now)
    for row in rows:
        if writer.waits(row, kind):
            queue.agenda(row).add(now + NOT_OFFERED_S, row)
            continue
        queue.claims.claim(row, node.owner)
        letter = writer.letter(row)
        if letter is None:
            batch.empty.append(row)
        else:
            batch.letters.append(letter)
    return batch if rows else None


def _sender(root: Root, node: Node, options: StatusPageSettings, kind: str) -> PageSender:
    store = store_of(root)
    server = (store.mail_address(root) if kind == MAIL else None) or ""
    return PageSender(store.page.mail_from or "", server, options.timeout_s, denied_networks(node))


class LetterWriter:
    """Writes the letters of one batch; the same words to all who chose the same groups are written once."""

    def __init__(self, root: Root, store: StatusPageStore, pages: dict[str, SubscribedPage], node: Node, now: float):
        self._root, self._store, self._pages, self._zone = root, store, pages, node.config.timezone
        self._oldest = now - node.config[NotificationSettings].retry.for_s
        self._known: dict[tuple[str, str, tuple[str, ...]], tuple[MessageWords, tuple[NewsItem, ...]] | None] = {}

    def waits(self, row: str, kind: str) -> bool:
        """The page is there, and does not offer this way at present."""
        subscriber = self._store.subscribers.get(row.partition("/")[2])
        page = None if subscriber is None else self._pages.get(subscriber.page)
        return page is not None and kind not in page.offers

    def letter(self, row: str) -> PageLetter | None:
        told, _, subscriber_id = row.partition("/")
        subscriber = self._store.subscribers.get(subscriber_id)
        page = None if subscriber is None else self._pages.get(subscriber.page)
        if subscriber is None or page is None:
            return None
        if told == CONFIRM:
            return self._confirmation(row, page, subscriber_id, subscriber)
        known = self._news(told, page, subscriber.groups)
        if known is None:
            return None
        words, items = known
        leave = self._leave(page, subscriber_id, subscriber)
        return PageLetter(row, subscriber.address(self._root), page.name, page.home, words, leave, items=items)

    def _confirmation(
        self, row: str, page: SubscribedPage, subscriber_id: str, subscriber: Subscriber
    ) -> PageLetter | None:
        to = subscriber.address(self._root)
        if subscriber.confirmed_at is None:
            token = token_of(self._root, CONFIRM, subscriber_id, subscriber)
            words = letters.confirmation(page.name, f"{page.home}/confirm/{token}")
            return PageLetter(row, to, page.name, page.home, words, challenge=token)
        if subscriber.kind != MAIL:
            return None
        leave = self._leave(page, subscriber_id, subscriber)
        return PageLetter(row, to, page.name, page.home, letters.known_already(page.name), leave)

    def _news(
        self, told: str, page: SubscribedPage, wanted: tuple[str, ...]
    ) -> tuple[MessageWords, tuple[NewsItem, ...]] | None:
        key = (told, page.audience.page, wanted)
        if key not in self._known:
            announcement = self._store.announcements.get(told)
            items = [] if announcement is None or announcement.at < self._oldest else announcement.items
            items = [item for item in items if page.audience.hears(wanted, item)]
            words = letters.news(page.name, items, page.home, self._zone) if items else None
            self._known[key] = None if words is None else (words, tuple(items))
        return self._known[key]

    def _leave(self, page: SubscribedPage, subscriber_id: str, subscriber: Subscriber) -> str:
        return f"{page.home}/unsubscribe/{token_of(self._root, LEAVE, subscriber_id, subscriber)}"


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
    since += PIECES.take(root, ATTEMPTS, (subscriber.kind, posted.row))
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
