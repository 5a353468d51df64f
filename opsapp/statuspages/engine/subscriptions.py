"""Asking to be told, confirming, leaving; what admins see and take away. The answer to asking is the same, and the work
about the same, whether an address is known or not."""

from __future__ import annotations

from itertools import islice

from opsapp.audit.engine import Actor, note
from opsapp.auth.engine import AttemptLimit, count_attempts, in_turn
from opsapp.lib.networks import counted_address
from opsapp.lib.problems import Conflict, NotFound, TooMany
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.seals import seal_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.statuspages.logic.addresses import shown
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.statuspages.records import SubscriptionAsked, SubscriptionCounts, SubscriptionRecord
from opsapp.statuspages.resources import CONFIRM, SUBSCRIBER, StatusPageStore, Subscriber, bearer_of, mark_of, store_of
from opsapp.tree.root import Root

from .settings import offered

LEAVE = "leave"
PAGE = 500
MOST_PENDING = 5_000
ASKED = SubscriptionAsked("asked", "If messages can be sent to this address, one is on its way: confirm with it.")


def ask(node: Node, ip: str, wanted: SubscriptionRecord) -> SubscriptionAsked:
    """TooMany: this address of the network asks too often; that of the subscriber is then only passed over, for the
    answer must not tell of it."""
    options, now = node.config[StatusPageSettings], node.clock.now()
    by_ip = AttemptLimit(options.asks_per_ip, options.ask_window_s, options.ask_window_s)
    locked = in_turn(node, count_attempts, [("subscribe:" + counted_address(ip), by_ip)], now)
    if locked:
        raise TooMany(
            f"Too many subscriptions from here. Try again in {locked} seconds.",
            code="too_many_attempts",
            retry_after=locked,
        )
    in_turn(node, _ask, wanted, now)
    return ASKED


def _ask(root: Root, wanted: SubscriptionRecord, now: float) -> None:
    """What is known of the address decides which message it gets, and nothing else."""
    store, kind = store_of(root), wanted.kind
    if kind not in offered(root, store.page):
        raise Conflict("This page does not offer that.", code="not_offered")
    options = node_of(root).config[StatusPageSettings]
    limit = AttemptLimit(options.asks_per_address, options.ask_window_s, options.ask_window_s)
    mark, sealed = mark_of(root, kind, wanted.address), seal_of(root).seal(wanted.address, SUBSCRIBER)
    if count_attempts(root, [("subscriber:" + mark, limit)], now):
        return
    subscriber_id = store.marks.get(mark)
    if subscriber_id is None:
        if len(store.pending) >= MOST_PENDING or len(store.confirmed) >= options.max_subscribers:
            return
        subscriber_id = store.add(Subscriber(kind, sealed, mark, wanted.groups, now))
    elif store.subscribers[subscriber_id].confirmed_at is None:
        store.ask_again(subscriber_id, wanted.groups, now)
    queue = store.queues[kind]
    queue.agenda(CONFIRM).add(now, f"{CONFIRM}/{subscriber_id}")
    wake_after_commit(root, f"status-{kind}")


def waits(root: Root, token: str) -> bool:
    return _waiting(root, token) is not None


def _waiting(root: Root, token: str) -> str | None:
    subscriber_id, now = bearer_of(root, CONFIRM, token), node_of(root).clock.now()
    if subscriber_id is None:
        return None
    subscriber = store_of(root).subscribers[subscriber_id]
    ends = subscriber.asked_at + node_of(root).config[StatusPageSettings].confirm_s
    return subscriber_id if subscriber.confirmed_at is None and now < ends else None


def confirm(root: Root, token: str, ip: str) -> None:
    subscriber_id = _waiting(root, token)
    if subscriber_id is None:
        raise NotFound("This link is not valid any more. Subscribe again.")
    store_of(root).confirm(subscriber_id, node_of(root).clock.now())
    note(root, Actor(None, ip), "subscription.confirm", subscriber_id)


def belongs(root: Root, token: str) -> bool:
    return bearer_of(root, LEAVE, token) is not None


def leave(root: Root, token: str, ip: str) -> None:
    """Of a link that was used before too: who left has left."""
    subscriber_id = bearer_of(root, LEAVE, token)
    if subscriber_id is not None:
        store_of(root).drop(subscriber_id)
        note(root, Actor(None, ip), "subscription.leave", subscriber_id)


# -- for admins ------------------------------------------------------------------------------------------------------


def page(root: Root, state: str | None, limit: int, offset: int) -> tuple[list[SubscriptionRecord], int]:
    store = store_of(root)
    pending = [subscriber_id for _, subscriber_id in store.pending] if state != "confirmed" else []
    confirmed = list(store.confirmed.keys()) if state != "pending" else []
    ids = pending + confirmed
    return [_row(root, store, subscriber_id) for subscriber_id in ids[offset : offset + limit]], len(ids)


def _row(root: Root, store: StatusPageStore, subscriber_id: str) -> SubscriptionRecord:
    subscriber = store.subscribers[subscriber_id]
    return SubscriptionRecord(
        kind=subscriber.kind,
        address=shown(subscriber.kind, subscriber.address(root)),
        groups=subscriber.groups,
        id=subscriber_id,
        state="pending" if subscriber.confirmed_at is None else "confirmed",
        asked_at=subscriber.asked_at,
        confirmed_at=subscriber.confirmed_at,
        failures=subscriber.failures,
    )


def counts(root: Root) -> SubscriptionCounts:
    store = store_of(root)
    kinds = [kind for kind, _ in store.confirmed.values()]
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
    return len(old) == PAGE
