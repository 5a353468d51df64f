"""What all connections of a listener share: the application, limits, counts, who waits. Hub only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from opsapp.lib.networks import client_address, is_trusted
from opsapp.web.config import WebSettings
from opsapp.web.paths import Paths
from opsapp.web.requestcounts import RequestCounts

from .accesslog import AccessLog
from .knowncallers import KnownCallers
from .lastinganswers import Lasting
from .limits import Limits
from .shares import ServerShares, Share


class Interruptible(Protocol):
    def interrupt(self) -> None:
        """End this connection now."""


class Shared:
    def __init__(
        self,
        app: Callable[..., Any],
        lane: Any,
        base_environ: dict[str, Any],
        limits: Limits | None,
        paths: Paths | None,
        web: Callable[[], WebSettings],
        own_lane: Callable[[str], Any] | None = None,
        requests: RequestCounts | None = None,
    ):
        self.app = app
        self.lane = lane
        self.base_environ = base_environ
        self.limits = limits or Limits()
        self.paths = paths or Paths()
        self.web = web  # the configuration's section of that name, as it is now
        self.waiting: dict[Interruptible, None] = {}  # those of whom we wait for bytes, the longest first
        self.lasting = Lasting(lambda: self.limits)
        self.shares = ServerShares(lane, own_lane or (lambda _name: lane), lambda: self.limits)
        self.known = KnownCallers()
        self.draining = False  # a node among others that stops: each connection may bring one more request
        self.stopping = False
        self.access = AccessLog()
        self.requests = requests or RequestCounts()

    def share_of(self, method: str, path: str) -> Share:
        return self.shares.named(self.paths.lane(method, path))

    def base_url(self) -> str | None:
        return self.web().base_url

    def is_behind_tls(self) -> bool:
        """Whether users reach this service by https."""
        return (self.base_url() or "").lower().startswith("https:")

    def vouches(self, peer: str) -> bool:
        return is_trusted(peer, self.web().trusted_proxies)

    def client_of(self, peer: str, forwarded: str) -> str:
        return client_address(peer, forwarded, self.web().trusted_proxies)
