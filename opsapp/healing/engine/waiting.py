"""Waiting for something that a transaction will show: outside of any transaction, by a greenlet or by a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import gevent

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

Seen = TypeVar("Seen")


def wait_for(node: Node, look: Callable[[], Seen], *, patience_s: float, every_s: float) -> Seen:
    """What `look` sees as soon as it sees something; at the end of the patience what it sees then. A greenlet lets
    others run meanwhile, a thread of its own just waits."""
    end = node.clock.monotonic() + patience_s
    while not (seen := look()) and node.clock.monotonic() < end:
        (gevent.sleep if node.hub.is_here() else time.sleep)(every_s)
    return seen
