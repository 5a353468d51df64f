"""What is stored of notifications. Must not: HTTP, gevent, decisions."""

from __future__ import annotations

from opsapp.runtime.secrets.seals import Reseal
from opsapp.tree.folder import Folder
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root

from . import channels, confidential, groups, inbox
from .channels import Channel, Channels, channels_of
from .deliveries import Deliveries, Delivery, deliveries_of


class Notifications(Folder):
    """/api/notifications"""

    url = "/api/notifications"


def reseal(root: Root, anew: Reseal) -> None:
    """Called by `opsapp rekey`: channels' URLs, and what messages keep to themselves, are sealed anew."""
    channels.reseal(root, anew)
    confidential.reseal(root, anew)


def set_up(root: Root) -> None:
    """Evolve step: nothing was told yet."""
    inbox.set_up(root)


notifications_of = ApiPlace[Notifications]("notifications")


def set_up_delivery(root: Root) -> None:
    """Evolve step: no channels, and nothing on its way."""
    groups.set_up(root)
    folder = notifications_of.put(root, Notifications())
    folder["channels"] = Channels()
    folder["deliveries"] = Deliveries()
