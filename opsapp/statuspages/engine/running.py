"""What runs for the public page."""

from __future__ import annotations

from functools import partial

from opsapp.runtime.looks import QueueLook
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
    add, calendar = node.supervisor.add, partial(announcing.look_at_windows, node)
    add("status-calendar", calendar, every=10.0, wake=("maintenance",), lease=LEASE)
    add("status-purge", partial(purge, node), every=3600.0, lease="housekeeping", cleans=True)
    add = partial(add, every=EVERY_S, lease=LEASE)
    add("status-news", partial(announcing.step, node), wake=(NEWS,), look=QueueLook(node, announcing.anything))
    node.clock_steps.carry(LEASE, sending.move)
    for kind, carrier in carriers(node).items():
        name, look = f"status-{kind}", QueueLook(node, partial(sending.anything, kind))
        add(name, partial(sending.step, node, kind, carrier), wake=(name,), look=look)


def carriers(node: Node) -> dict[str, LetterCarrier]:
    """By what letters leave this node, by kind."""
    return {MAIL: MailCarrier(node), WEBHOOK: WebhookCarrier(node)}


def purge(node: Node) -> bool:
    return bool(node.transact(_purge, node.clock.now()))


def _purge(root: Root, now: float) -> bool:
    announcing.purge(root, now)
    return subscribing.purge(root, now)
