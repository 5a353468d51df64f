"""Verdicts that change a state, committed together: when a switch dies a thousand monitors go down in a few commits."""

from __future__ import annotations

import logging
from collections import deque
from typing import Any

import gevent
from gevent.event import AsyncResult

from opsapp.lib.problems import OutcomeUnknown, StoreAway
from opsapp.monitoring.engine import changes
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

log = logging.getLogger(__name__)

BATCH = 100


class VerdictQueue:
    """`settle(monitor_id, revision, standing, now)` waits for its commit and answers whether the verdict was taken."""

    def __init__(self, node: Node):
        self._node = node
        self._queue: deque[tuple[tuple[Any, ...], AsyncResult]] = deque()
        self._busy = False

    def settle(self, *verdict: Any) -> bool:
        if not self._node.hub.is_here():
            return self._commit([verdict])[0]
        settled = AsyncResult()
        self._queue.append((verdict, settled))
        if not self._busy:
            self._busy = True
            gevent.spawn(self._drain)
        return settled.get()

    def _drain(self) -> None:
        """What gathers while one batch is committed is the next one."""
        try:
            while self._queue:
                batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
                for (_, settled), taken in zip(batch, self._commit([verdict for verdict, _ in batch]), strict=True):
                    settled.set(taken)
        finally:
            self._busy = False

    def _commit(self, verdicts: list[tuple[Any, ...]]) -> list[bool]:
        """A store that is away takes none; the next checks come to the same verdicts. A verdict that cannot be stored
        is found by storing each alone."""
        try:
            return self._node.transact(settle_all, verdicts)
        except (StoreAway, OutcomeUnknown) as problem:
            log.warning("verdicts not stored count=%d: %s", len(verdicts), problem)
        except Exception:
            log.exception("verdicts not stored count=%d", len(verdicts))
            if len(verdicts) > 1:
                return [self._commit([verdict])[0] for verdict in verdicts]
        return [False] * len(verdicts)


def settle_all(root: Root, verdicts: list[tuple[Any, ...]]) -> list[bool]:
    """Transaction function."""
    return [changes.settle(root, *verdict) for verdict in verdicts]
