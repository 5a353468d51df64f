"""Moments whose age does not change when somebody sets this host's clock, kept over restarts of the agent.

Within one boot the time since that boot counts, also while the host is suspended. Of a moment before it only the two
clocks are left; its age is taken once, when it is read, and goes on evenly from then on.
"""

from __future__ import annotations

import time
from typing import Any, Callable, List, NamedTuple, Optional

from .proc import boot_id


def since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class HostMoment(NamedTuple):
    wall: float  # what this host's clock showed
    running: float  # for how long the host was running; of a moment before this boot it is less than 0

    def later(self, seconds: float) -> HostMoment:
        return HostMoment(self.wall + seconds, self.running + seconds)


class SteadyClock:
    def __init__(
        self,
        boot: Optional[str] = None,
        *,
        wall: Callable[[], float] = time.time,
        running: Callable[[], float] = since_boot,
    ):
        self.boot = boot_id() if boot is None else boot
        self.wall = wall
        self.running = running

    def now(self) -> HostMoment:
        return HostMoment(self.wall(), self.running())

    def age(self, moment: HostMoment) -> float:
        """The seconds since the moment, less than 0 for what is to come."""
        return self.running() - moment.running

    def shown(self, moment: HostMoment) -> float:
        """The moment by this host's clock as it is set now."""
        now_shown = self.wall() - self.age(moment)
        return moment.wall if abs(now_shown - moment.wall) < 1.0 else now_shown

    # ---- over a restart
    def kept(self, moment: HostMoment) -> List[Any]:
        return [moment.wall, moment.running, self.boot]

    def is_of_this_boot(self, kept: Any) -> bool:
        return isinstance(kept, list) and len(kept) == 3 and bool(self.boot) and kept[2] == self.boot

    def read(self, kept: Any, wall: float) -> HostMoment:
        """Read a kept moment: before this boot, or by an older agent, it was at `wall` by the clock; what that clock
        has still to come to is taken as of now."""
        if self.is_of_this_boot(kept):
            return HostMoment(float(kept[0]), float(kept[1]))
        now = self.now()
        return HostMoment(wall, now.running - max(0.0, now.wall - wall))
