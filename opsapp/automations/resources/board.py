"""The queues of runs: which wait, which may be taken up, which are under way, and what has to be looked at when.

Every index is a B-tree, so that runs of different automations do not meet.
"""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.runtime.queue import Agenda, Claims

KEY = "automations"
CALLS_A_MINUTE_S = 60.0


class RunBoard(Persistent):
    def __init__(self) -> None:
        self.queue = OOBTree()  # run id -> automation id: waits for a place, or for another run of its automation
        self.admitted = OOTreeSet()  # ids of runs that a node may take up
        self.claimed = OOBTree()  # run id -> "node:boot": a node carries it out
        self.remote = OOTreeSet()  # ids of runs that wait for agents
        self.moments = OOTreeSet()  # (time, run id, why): what has to be looked at then
        self.webhooks = OOBTree()  # digest of a token -> automation id
        self.calls = OOBTree()  # automation id -> Calls
        self.clock = ScheduleClock()

    @property
    def agenda(self) -> Agenda:
        return Agenda(self.moments)

    @property
    def claims(self) -> Claims:
        return Claims(self.claimed)

    @property
    def places_taken(self) -> int:
        """How many runs this service's nodes carry out, or are about to."""
        return len(self.admitted) + len(self.claimed)

    def drop(self, run_id: str) -> None:
        if run_id in self.queue:
            del self.queue[run_id]
        self.claims.release(run_id)
        for index in (self.admitted, self.remote):
            if run_id in index:
                index.remove(run_id)

    def under_way(self) -> set[str]:
        """Ids of all runs that have begun and not ended, and of some that are over."""
        return {*self.admitted, *self.claimed, *self.remote, *(run_id for _, run_id, _ in self.moments)}


Board = RunBoard  # the name that stores of older versions know it by


class ScheduleClock(Persistent):
    """The last tick of the schedules that was handled: (time, automation id), in their order.

    `spans`: times that may come again, because the clock was set; `landed`: where it was set to last.
    """

    handled: tuple[float, str] = (0.0, "")
    spans: tuple[tuple[float, float, bool], ...] = ()  # stores of an older version have neither
    landed = 0.0


class Calls(Persistent):
    """When a webhook was called in the last minute. Calls at once do not conflict: both count."""

    def __init__(self) -> None:
        self.times: tuple[float, ...] = ()

    def recent(self, now: float) -> tuple[float, ...]:
        return tuple(at for at in self.times if now - CALLS_A_MINUTE_S < at <= now)

    def add(self, now: float) -> None:
        self.times = (*self.recent(now), now)

    def _p_resolveConflict(self, old: dict[str, Any], saved: dict[str, Any], mine: dict[str, Any]) -> dict[str, Any]:
        before = set(old.get("times", ()))
        added = tuple(at for at in mine["times"] if at not in before)
        return {**saved, "times": tuple(sorted((*saved["times"], *added)))}


def board_of(root: Any) -> RunBoard:
    return root.system[KEY]
