"""Subscribes visitors, confirms and ends subscriptions, and lists and removes them for admins. A request to subscribe
gets the same answer after about the same work, whether the address is known or not."""

from __future__ import annotations

from itertools import islice

from opsapp.audit.engine import Actor, note
from opsapp.auth.engine import AttemptLimit, count_attempts, in_turn
from opsapp.lib.networks import counted_address
from opsapp.lib.pagenames import MAIN
from opsapp.lib.problems import Conflict, NotFound, TooMany
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.secrets.seals import seal_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.statuspages.logic.addresses import shown
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.statuspages.records import SubscriptionAsked, SubscriptionCounts, SubscriptionRecord
from opsapp.statuspages.resources import (
    CONFIRM,
    SUBSCRIBER,
    ListedSubscriber,
    StatusPageStore,
    Subscriber,
    bearer_of,
    mark_of,
    store_of,
)
from opsapp.tree.root import Root

from .offers import offered

LEAVE = "leave"
PAGE = 500
MOST_PENDING = 5_000
ASKED = SubscriptionAsked("asked", "If messages can be sent to this address, one is on its way: confirm with it.")


def ask(node: Node, ip: str, wanted: SubscriptionRecord, *, by_form: bool = False) -> SubscriptionAsked:
    """`by_form`: on the page itself, whose password was said. TooMany: this address of the network asks too often; that
    of the subscriber is then only passed over, for the answer must not tell of it."""
    options, now = node.config[StatusPageSettings], node.clock.now()
    by_ip = AttemptLimit(options.asks_per_ip, options.ask_window_s, options.ask_window_s)
    locked = in_turn(node, count_attempts, [("subscribe:" + counted_address(ip), by_ip)], now)
    if locked:
        raise TooMany(
            f"Too many subscriptions from here. Try again in {locked} seconds.",
            code="too_many_attempts",
            retry_after=locked,
        )
    in_turn(node, _ask, wanted, now, by_form)
    return ASKED


def _ask(root: Root, wanted: SubscriptionRecord, now: float, by_form: bool) -> None:
    """What is known of the address decides which message it gets, and nothing else."""
    store, kind = store_of(root), wanted.kind
    page, offers = _page_of(root, wanted.page, by_form=by_form)
    if kind not in offers:
        raise Conflict("This page does not offer that.", code="not_offered")
    options = node_of(root).config[StatusPageSettings]
    limit = AttemptLimit(options.asks_per_address, options.ask_window_s, options.ask_window_s)
    sealed = seal_of(root).seal(wanted.address, SUBSCRIBER)
    if count_attempts(root, [("subscriber:" + mark_of(root, kind, wanted.address), limit)], now):
        return
    mark = mark_of(root, kind, wanted.address, page)
    subscriber_id = store.marks.get(mark)
    if subscriber_id is None:
        if len(store.pending) >= MOST_PENDING or len(store.confirmed) >= options.max_subscribers:
            return
        subscriber_id = store.add(Subscriber(kind, sealed, mark, wanted.groups, now, page))
    elif store.subscribers[subscriber_id].confirmed_at is None:
        store.ask_again(subscriber_id, wanted.groups, now)
    queue = store.queues[kind]
    queue.agenda(CONFIRM).add(now, f"{CONFIRM}/{subscriber_id}")
    wake_after_commit(root, f"status-{kind}")


def _page_of(root: Root, path: str, *, by_form: bool) -> tuple[str, tuple[str, ...]]:
    """Its id, and what it offers: a page with a password offers nothing but on itself."""
    if path == MAIN:
        return MAIN, offered(root, store_of(root).page)
    kept = store_of(root).own_page(path)
    if kept is None or (kept.is_protected and not by_form):
        return "", ()
    return kept.id, offered(root, kept.record)


def waits(root: Root, token: str, slug: str | None = None) -> bool:
    return _waiting(root, token, slug) is not None


def _bearer(root: Root, purpose: str, token: str, slug: str | None) -> str | None:
    """Whose link it is, where it stands below the page that it is of."""
    subscriber_id, page = bearer_of(root, purpose, token), store_of(root).own_page(slug) if slug is not None else None
    if subscriber_id is None or (slug is not None and page is None):
        return None
    of = store_of(root).subscribers[subscriber_id].page
    return subscriber_id if of == (MAIN if page is None else page.id) else None


def _waiting(root: Root, token: str, slug: str | None) -> str | None:
    subscriber_id, now = _bearer(root, CONFIRM, token, slug), now_of(root)
    if subscriber_id is None:
        return None
    subscriber = store_of(root).subscribers[subscriber_id]
    ends = subscriber.asked_at + node_of(root).config[StatusPageSettings].confirm_s
    return subscriber_id if subscriber.confirmed_at is None and now < ends else None


def confirm(root: Root, token: str, ip: str, slug: str | None = None) -> None:
    subscriber_id = _waiting(root, token, slug)
    if subscriber_id is None:
        raise NotFound("This link is not valid any more. Subscribe again.")
    store_of(root).confirm(subscriber_id, now_of(root))
    note(root, Actor(None, ip), "subscription.confirm", subscriber_id)


def belongs(root: Root, token: str, slug: str | None = None) -> bool:
    return _bearer(root, LEAVE, token, slug) is not None


def leave(root: Root, token: str, ip: str, slug: str | None = None) -> None:
    """Of a link that was used before too: who left has left."""
    subscriber_id = _bearer(root, LEAVE, token, slug)
    if subscriber_id is not None:
        store_of(root).drop(subscriber_id)
        note(root, Actor(None, ip), "subscription.leave", subscriber_id)


# -- for admins ------------------------------------------------------------------------------------------------------


def page(root: Root, state: str | None, limit: int, offset: int) -> tuple[list[SubscriptionRecord], int]:
    store = store_of(root)
    pending = [subscriber_id for _, subscriber_id in store.pending] if state != "confirmed" else []
    confirmed = list(store.confirmed.keys()) if state != "pending" else []
    ids = pending + confirmed
    paths = {page.id: slug for slug, page in store.own_pages().items()} | {MAIN: MAIN}
    return [_row(root, store, subscriber_id, paths) for subscriber_id in ids[offset : offset + limit]], len(ids)


def _row(root: Root, store: StatusPageStore, subscriber_id: str, paths: dict[str, str]) -> SubscriptionRecord:
    subscriber = store.subscribers[subscriber_id]
    return SubscriptionRecord(
        kind=subscriber.kind,
        address=shown(subscriber.kind, subscriber.address(root)),
        groups=subscriber.groups,
        page=paths.get(subscriber.page, ""),
        id=subscriber_id,
        state="pending" if subscriber.confirmed_at is None else "confirmed",
        asked_at=subscriber.asked_at,
        confirmed_at=subscriber.confirmed_at,
        failures=subscriber.failures,
    )


def counts(root: Root) -> SubscriptionCounts:
    store = store_of(root)
    kinds = [ListedSubscriber(*listed).kind for listed in store.confirmed.values()]
    waiting = sum(queue.waiting() for queue in store.queues.values())
    return SubscriptionCounts({kind: kinds.count(kind) for kind in store.queues}, len(store.pending), waiting)


def is_known(root: Root, subscriber_id: str) -> bool:
    return subscriber_id in store_of(root).subscribers


def remove(root: Root, subscriber_id: str) -> None:
    store_of(root).drop(subscriber_id)


def purge(root: Root, now: float) -> bool:
    store, before = store_of(root), now - node_of(root).config[StatusPageSettings].confirm_s
    old = list(islice(store.pending.keys(None, (before,)), PAGE))
    for _, subscriber_id in old:
        store.drop(subscriber_id)
    return _forget_ended(store) or len(old) == PAGE


def _forget_ended(store: StatusPageStore) -> bool:
    """Subscribers of a page that is gone for good, so many at once; whether there may be more. Who has not confirmed
    ends by himself."""
    if not store.ended:
        return False
    ended = store.ended.minKey()
    listed = (name for name, row in store.confirmed.items() if ListedSubscriber(*row).page == ended)
    gone = list(islice(listed, PAGE))
    for subscriber_id in gone:
        store.drop(subscriber_id)
    if len(gone) < PAGE:
        store.ended.remove(ended)
    return True
