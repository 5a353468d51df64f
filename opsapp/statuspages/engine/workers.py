"""The greenlets of the public status page."""

from __future__ import annotations

from functools import partial

from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node
from opsapp.statuspages.logic.addresses import MAIL, WEBHOOK
from opsapp.tree.root import Root

from . import announcements, clockmoves, dispatch, subscriptions
from .letter import LetterCarrier
from .mail import MailCarrier
from .settings import LEASE, NEWS
from .webhooks import WebhookCarrier

EVERY_S = 1.0


def start(node: Node) -> None:
    add, calendar = node.supervisor.add, partial(announcements.look, node)
    add("status-calendar", calendar, every=10.0, wake=("maintenance",), lease=LEASE)
    add("status-purge", partial(purge, node), every=3600.0, lease="housekeeping", cleans=True)
    add = partial(add, every=EVERY_S, lease=LEASE)
    add("status-news", partial(announcements.step, node), wake=(NEWS,), look=QueueLook(node, announcements.anything))
    clockmoves.PIECES.carry(node)
    for kind, carrier in carriers(node).items():
        name, look = f"status-{kind}", QueueLook(node, partial(dispatch.anything, kind))
        add(name, partial(dispatch.step, node, kind, carrier), wake=(name,), look=look)


def carriers(node: Node) -> dict[str, LetterCarrier]:
    return {MAIL: MailCarrier(node), WEBHOOK: WebhookCarrier(node)}


def purge(node: Node) -> bool:
    return bool(node.transact(_purge, node.clock.now()))


def _purge(root: Root, now: float) -> bool:
    announcements.purge(root, now)
    return subscriptions.purge(root, now)
