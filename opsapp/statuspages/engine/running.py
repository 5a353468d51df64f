"""What runs for the public page."""

from __future__ import annotations

from functools import partial

from opsapp.runtime.node import Node
from opsapp.statuspages.logic.addresses import MAIL, WEBHOOK
from opsapp.tree.root import Root

from . import announcing, sending, subscribing
from .hooking import WebhookCarrier
from .letter import LetterCarrier
from .mailing import MailCarrier
from .settings import LEASE, NEWS

EVERY_S = 1.0


def start(node: Node) -> None:
    add, look = node.supervisor.add, partial(announcing.look_at_windows, node)
    add("status-calendar", look, every=10.0, wake=("maintenance",), lease=LEASE)
    add("status-news", partial(announcing.step, node), every=EVERY_S, wake=(NEWS,), lease=LEASE)
    for kind, carrier in carriers(node).items():
        name = f"status-{kind}"
        add(name, partial(sending.step, node, kind, carrier), every=EVERY_S, wake=(name,), lease=LEASE)
    add("status-purge", partial(purge, node), every=3600.0, lease="housekeeping")


def carriers(node: Node) -> dict[str, LetterCarrier]:
    """By what letters leave this node, by kind."""
    return {MAIL: MailCarrier(node), WEBHOOK: WebhookCarrier(node)}


def purge(node: Node) -> bool:
    return bool(node.transact(_purge, node.clock.now()))


def _purge(root: Root, now: float) -> bool:
    announcing.purge(root, now)
    return subscribing.purge(root, now)
