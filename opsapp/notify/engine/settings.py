"""What of notifications is configured, and the names that the steps share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opsapp.notify.logic.settings import NotificationSettings

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

LEASE = "notify"
QUEUE = "notify"
SENDING = "notify-sending"


def options(node: Node) -> NotificationSettings:
    return node.config[NotificationSettings]
