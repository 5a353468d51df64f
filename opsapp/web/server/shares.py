"""What requests wait in: threads, memory for bodies, places. Paths of possible storms have a share of their own. Hub
only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .limits import Limits
from .refusal import Refusal
from .uploads import Uploads

OWN_SHARE = 0.5  # of all connections


class Share:
    """`most`: how many requests may wait."""

    def __init__(self, lane: Any, limits: Callable[[], Limits], most: Callable[[], int]):
        self.lane = lane
        self.uploads = Uploads(limits)
        self._most = most
        self._asking = 0

    @contextmanager
    def waiting(self, *, keep: bool) -> Iterator[None]:
        """While a request waits and is answered; `keep`: the connection may go on after a refusal."""
        if self._asking >= self._most():
            raise Refusal(503, "overloaded", "Too many requests wait.", keep=keep, headers={"Retry-After": "1"})
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1


class ServerShares:
    def __init__(self, common: Any, own_lane: Callable[[str], Any], limits: Callable[[], Limits]):
        self._own_lane, self._limits = own_lane, limits
        self._common = Share(common, limits, lambda: limits().max_waiting)
        self._own: dict[str, Share] = {}

    def _most_of_own(self) -> int:
        """Each that waits has a connection: others have to find one too."""
        return int(self._limits().max_connections * OWN_SHARE)

    def named(self, name: str | None) -> Share:
        if name is None:
            return self._common
        if name not in self._own:
            self._own[name] = Share(self._own_lane(name), self._limits, self._most_of_own)
        return self._own[name]
