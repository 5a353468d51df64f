"""What runs for notifications, and what it says of itself at /metrics."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from opsapp.notify.resources import deliveries_of
from opsapp.runtime.families import counter, gauge
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node

from . import damage, dispatch, routes
from .dispatch import ISender, Sender
from .settings import LEASE, QUEUE, SENDING, options

DAY_S = 86400.0
EVERY_S = 0.5


def prepare(node: Node) -> None:
    """Every node may send a test message, whatever its roles are."""
    node.registry.registerUtility(Sender(node), ISender)


def start(node: Node) -> None:
    sender = sender_of(node)
    node.leases.busy_while(LEASE, lambda: sender.flying - sender.late)
    routes.PIECES.carry(node, "messages")
    add, look = partial(node.supervisor.add, every=EVERY_S, lease=LEASE), partial(QueueLook, node)
    add("notify-routing", partial(routes.step, node), wake=(QUEUE,), look=look(routes.anything))
    add("notify-sending", sender.step, wake=(SENDING,), look=look(lambda root, _now: dispatch.anything(root)))
    node.supervisor.add("notify-damage", partial(damage.step, node), every=damage.EVERY_S)
    node.supervisor.add("notify-purge", partial(purge, node), every=3600.0, lease="housekeeping", cleans=True)


def purge(node: Node) -> bool:
    before = node.clock.now() - options(node).keep_days * DAY_S
    return node.transact(lambda root: deliveries_of(root).purge(before))


def sender_of(node: Node) -> Sender:
    return node.registry.getUtility(ISender)


def figures(node: Node) -> Iterable[Any]:
    sender: Sender | None = node.registry.queryUtility(ISender)
    if sender is None:
        return
    attempts = counter("opsapp_notifications", "Attempts to send a message.", labels=["outcome"])
    attempts.add_metric(["sent"], sender.sent)
    attempts.add_metric(["failed"], sender.failed)
    yield attempts
    yield gauge("opsapp_notifications_waiting", "Deliveries that have not left yet.", sender.waiting)
    hanging = {lane.channel_id for lane in sender.late}
    yield gauge("opsapp_notifications_hanging", "Channels whose service hangs.", len(hanging))
