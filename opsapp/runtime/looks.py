"""Steps that look into the store for due work, and how they are spared from looking for nothing.

Where one process has the store alone it knows of every commit. So after a step that found nothing there can be nothing
before the next commit, or before something falls due.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opsapp.tree.root import Root

from .base import NodeBase

AHEAD_S = 5.0  # one look answers for so long


class QueueLook:
    """`anything(root, now)`: whether there is, or may be, work by `now`; it changes nothing, and what is due stays due.
    Asked only after the step has found nothing twice in one state of the store, so a node at work pays nothing."""

    def __init__(self, node: NodeBase, anything: Callable[[Root, float], Any]):
        self._node, self._anything = node, anything
        self._began: tuple[object, float] = (None, 0.0)
        self._quiet_in: object = None  # the state of the store in which the step found nothing last
        self._still_in: object = None  # the one in which there is nothing for AHEAD_S either
        self._still_at = 0.0

    def begin(self) -> None:
        """What is committed from here on may be work that the step does not see."""
        self._began = self._node.state(), self._node.clock.now()

    def found_nothing(self) -> None:
        """Called after a step that found nothing."""
        state, now = self._began
        if state is self._quiet_in:
            soon = self._node.transact(_anything, self._anything, now + AHEAD_S)
            self._still_in, self._still_at = None if soon else state, now
        self._quiet_in = state

    def is_still(self) -> bool:
        """Whether nothing has changed, from memory alone. Not where the clock was put back: what is due was judged by a
        later time."""
        return self._still_in is self._node.state() and 0 <= self._node.clock.now() - self._still_at < AHEAD_S


def _anything(root: Root, anything: Callable[[Root, float], Any], now: float) -> bool:
    return bool(anything(root, now))
