"""A long read of the store that many may ask for: in a thread of its own, once for all who ask meanwhile.

Must not: keep an answer for who asks later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from gevent.event import AsyncResult

from opsapp.runtime.base import NodeBase

LANE = "long-reads"
Answer = TypeVar("Answer")


class SharedRead(Generic[Answer]):
    """Called on the hub, or where there is none. Who asks while one is under way waits for the next, so that no answer
    is older than its question. `lane`: for who must not wait until other long reads have ended."""

    def __init__(self, node: NodeBase, read: Callable[[], Answer], lane: str = LANE):
        self._node = node
        self._read = read
        self._lane = lane
        self._next: AsyncResult | None = None

    def __call__(self) -> Answer:
        shared = self._next
        if shared is None:
            shared = self._next = AsyncResult()
            self._node.spawn(self._run, shared)
        answer: Answer = shared.get()
        return answer

    def _run(self, shared: AsyncResult) -> None:
        try:
            shared.set(self._node.lane(self._lane, 1).run(self._begin))
        except Exception as problem:  # noqa: BLE001 - everybody who asked is told
            self._next = None
            shared.set_exception(problem)

    def _begin(self) -> Answer:
        self._next = None  # what is committed from here on may be missing in this answer
        return self._read()
