"""Where a message may not go: a thread that sends one connects to no address of a denied network.

Judged when the connection is made, so whatever service Apprise has behind a URL, and whatever a name leads to by then.
Python tells an audit hook of every connect; ours speaks only in threads that send.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from opsapp.lib.networks import AddressPolicy, OutboundSettings
from opsapp.runtime.node import Node

CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_here = threading.local()


class DeniedNetwork(OSError):
    """An address that `monitoring.deny_networks` names."""


def denied_networks(node: Node) -> tuple[str, ...]:
    return node.config[OutboundSettings].deny_networks


@contextmanager
def networks_denied(networks: Iterable[str]) -> Iterator[None]:
    """While the block runs, this thread reaches none of these networks."""
    _listen()
    _here.policy = AddressPolicy((), networks)
    try:
        yield
    finally:
        _here.policy = None


@lru_cache(maxsize=1)
def _listen() -> None:
    """Once a process: a hook cannot be taken away."""
    sys.addaudithook(_judge)


def _judge(event: str, about: tuple[Any, ...]) -> None:
    if event not in CONNECTS:
        return
    policy = getattr(_here, "policy", None)
    address = about[1]
    if policy is not None and isinstance(address, tuple) and not policy.allows(address[0]):
        raise DeniedNetwork(f"{address[0]} is in a network that monitoring.deny_networks names")
