"""What the log says of agents that wait for the store: one line for all of them when it begins, each minute, and at
the end. Hub only. Must not: wait itself.
"""

from __future__ import annotations

import logging

from opsapp.runtime.clocks.clock import Clock

log = logging.getLogger(__name__)

REMIND_S = 60.0


class Patience:
    """One per node."""

    def __init__(self, clock: Clock):
        self._clock = clock
        self._waiting: set[str] = set()
        self._said = ""
        self._said_at = 0.0

    def waits(self, agent_id: str, why: Exception) -> None:
        self._waiting.add(agent_id)
        now, reason = self._clock.monotonic(), str(why)
        if reason != self._said or now - self._said_at >= REMIND_S:
            log.warning("nothing can be stored, agents wait: count=%d: %s", len(self._waiting), reason)
            self._said, self._said_at = reason, now

    def over(self, agent_id: str) -> None:
        """It could be stored, or the agent has gone."""
        if agent_id not in self._waiting:
            return
        self._waiting.discard(agent_id)
        if not self._waiting:
            log.info("the store takes reports again: agents no longer wait")
            self._said = ""
