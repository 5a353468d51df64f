"""What hosts may do alone: the fleet's heals of an hour are shared out, never twice.

A share cannot be taken back while its host is away: a smaller one counts in full until the former has expired, or the
host is known to have it. Must not: draw the shares.
"""

from __future__ import annotations

from typing import NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.runtime.queue import Agenda


class GivenShare(NamedTuple):
    """Heals an hour."""

    heals: int
    until: float
    since: float


class Shares(Persistent):
    """`held`: by agent, the latest last; `ends`: (time, agent)."""

    def __init__(self) -> None:
        self.held = OOBTree()
        self.ends = OOTreeSet()
        self.total = 0

    def most(self, agent_id: str) -> int:
        """Whichever it holds."""
        return max((share.heals for share in self._of(agent_id)), default=0)

    def left(self, agent_id: str, wanted: int, limit: int) -> int:
        """Returns as much of what is wanted as the limit allows."""
        own = self.most(agent_id)
        return min(wanted, own + max(0, limit - self.total))

    def give(self, agent_id: str, share: GivenShare) -> None:
        self._become(agent_id, [*self._of(agent_id), share])

    def taken(self, agent_id: str, before: float) -> None:
        """It surely has what it was given last, if before then: it holds nothing else."""
        held = self._of(agent_id)
        if len(held) > 1 and held[-1].since <= before:
            self._become(agent_id, held[-1:])

    def expire(self, now: float) -> None:
        """Removes the shares that have run out, those of deleted agents too."""
        for _, agent_id in list(Agenda(self.ends).until(now)):
            self._become(agent_id, [share for share in self._of(agent_id) if share.until > now])

    def _of(self, agent_id: str) -> list[GivenShare]:
        return [GivenShare(*share) for share in self.held.get(agent_id, ())]

    def _become(self, agent_id: str, shares: list[GivenShare]) -> None:
        before = self._of(agent_id)
        for share in before:
            Agenda(self.ends).discard(share.until, agent_id)
        for share in shares:
            Agenda(self.ends).add(share.until, agent_id)
        if shares:
            self.held[agent_id] = tuple(tuple(share) for share in shares)
        elif before:
            del self.held[agent_id]
        most = [max((share.heals for share in some), default=0) for some in (before, shares)]
        self.total += most[1] - most[0]
