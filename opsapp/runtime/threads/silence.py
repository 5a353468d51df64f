"""Waiting for another process, without counting the time in which this one was held up itself.

A process that has no processor (a busy machine, a SIGSTOP) hears no answer either. So the time is waited in short
turns, and a turn that ends late does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

TURN_S = 0.05
Answer = TypeVar("Answer")


class Silence:
    """Certain after so many seconds in which we had our turns and heard nothing."""

    def __init__(self, seconds: float):
        self._left = seconds

    @property
    def is_certain(self) -> bool:
        return self._left < 0.001

    def wait(self, ready: Callable[[float], Answer]) -> Answer:
        """What `ready(seconds)` answers: one turn of waiting."""
        turn, began = min(self._left, TURN_S), time.monotonic()
        answer = ready(turn)
        self._left -= min(turn, time.monotonic() - began)
        return answer
