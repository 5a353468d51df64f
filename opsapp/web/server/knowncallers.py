"""Whose turn a request waits for: people and agents are told by a credential that was good before; all others are
strangers, told by address. It decides about waiting only."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from opsapp.runtime.threads.fair import Whose

from .head import RequestHead

KNOWN = 20_000  # credentials; those that were not used for longest are forgotten


class KnownCallers:
    """Credentials that were found good, as digests. Lives on the hub."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    def whose(self, head: RequestHead, remote: str) -> Whose:
        digest = _credential(head)
        if digest is None or digest not in self._seen:
            return Whose("strangers", remote)
        return Whose("agents" if "x-agent-key" in head.headers else "people", digest)

    def learn(self, head: RequestHead) -> None:
        """Its credential was found good."""
        digest = _credential(head)
        if digest is None:
            return
        self._seen[digest] = None
        self._seen.move_to_end(digest)
        if len(self._seen) > KNOWN:
            self._seen.popitem(last=False)


def _credential(head: RequestHead) -> bytes | None:
    for name in ("x-agent-key", "authorization", "cookie"):
        shown = head.headers.get(name)
        if shown:
            return hashlib.blake2b(shown.encode("latin-1", "replace"), digest_size=16).digest()
    return None
