"""What bodies may cost together. A declared length reserves nothing. When the budget, or one address's part of it, is
used up, the slowest upload goes. Hub only."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opsapp.lib.networks import counted_address
from opsapp.web.answers import PeerSlow

from .limits import Limits
from .peer import Peer
from .refusal import Refusal


class Pace:
    """How long one client may let us wait for its body: a grace, and a second for each so many bytes. What we do with
    the bytes does not count."""

    def __init__(self, peer: Peer, limits: Limits):
        self.peer = peer
        self.waited = 0.0
        self.arrived = len(peer.buffer)
        self._waits_since: float | None = None
        self._limits = limits

    def fill(self) -> bool:
        limits = self._limits
        left = limits.body_grace + self.arrived / limits.min_body_rate - self.waited
        if left <= 0:
            raise PeerSlow
        before = len(self.peer.buffer)
        self._waits_since = time.monotonic()
        try:
            return self.peer.fill(min(limits.body_timeout, left))
        finally:
            self.waited, self._waits_since = self._waited_by_now(), None
            self.arrived += len(self.peer.buffer) - before

    def rate(self) -> float:
        """It falls while a client has stopped."""
        return self.arrived / max(self._waited_by_now(), 0.001)

    def _waited_by_now(self) -> float:
        return self.waited + (0.0 if self._waits_since is None else time.monotonic() - self._waits_since)


class Upload:
    def __init__(self, uploads: Uploads, pace: Pace, address: str):
        self._uploads = uploads
        self.pace = pace
        self.address = address
        self.held = 0
        self.dropped = False

    def took(self, size: int) -> None:
        """Refusal when this body is the one that has to go."""
        if not self.dropped:
            self._uploads.took(self, size)
        self.check()

    def check(self) -> None:
        if self.dropped:
            raise Refusal(503, "overloaded", "Too much is being uploaded at once.", headers={"Retry-After": "5"})

    def arrived(self) -> None:
        """It is whole: nobody waits for it any more, so it is not dropped for others."""
        self._uploads.waiting.discard(self)


class Uploads:
    def __init__(self, limits: Callable[[], Limits]):
        self._limits = limits
        self._held = 0
        self._by_address: Counter[str] = Counter()
        self.waiting: set[Upload] = set()  # those that are still arriving

    @contextmanager
    def taking(self, pace: Pace, address: str) -> Iterator[Upload]:
        upload = Upload(self, pace, counted_address(address))
        self.waiting.add(upload)
        try:
            yield upload
        finally:
            self._forget(upload)

    def took(self, upload: Upload, size: int) -> None:
        upload.held += size
        self._held += size
        self._by_address[upload.address] += size
        limits = self._limits()
        while self._by_address[upload.address] > limits.max_buffered * limits.address_share:
            if not self._drop_slowest(
                upload, {waiting for waiting in self.waiting if waiting.address == upload.address}
            ):
                return
        while self._held > limits.max_buffered:
            if not self._drop_slowest(upload, self.waiting):
                return

    def _drop_slowest(self, asking: Upload, among: set[Upload]) -> bool:
        """Whether the one that asks goes on."""
        slowest = min(among, key=lambda upload: upload.pace.rate())
        self._forget(slowest)
        slowest.dropped = True
        if slowest is asking:
            return False
        slowest.pace.peer.stop_reading()
        return True

    def _forget(self, upload: Upload) -> None:
        self.waiting.discard(upload)
        self._held -= upload.held
        self._by_address[upload.address] -= upload.held
        if self._by_address[upload.address] <= 0:
            del self._by_address[upload.address]
        upload.held = 0
