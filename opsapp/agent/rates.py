"""What only grows, as shares and rates: CPU time and network bytes, over a span long enough to mean something.

Right after another look the figures would be noise, mostly of the agent's own making: then they are unknown, or those
of a longer span. Must not: be asked from two threads at once.
"""

from __future__ import annotations

import collections
import time
from typing import Deque, Dict, NamedTuple, Optional, Tuple

from .proc import maybe

SPAN_S = 0.5
KEPT = 16


class LoadCounters(NamedTuple):
    at: float  # monotonic
    cpu: Optional[Tuple[float, float]]  # busy, all
    net: Dict[str, Tuple[float, float]]  # received, sent


class Rates:
    """`look()` now and then; `take()` for figures."""

    def __init__(self) -> None:
        self._looks: Deque[LoadCounters] = collections.deque(maxlen=KEPT)
        self._taken = self.look()
        self._now = self._base = self._taken

    def look(self) -> LoadCounters:
        seen = LoadCounters(time.monotonic(), _cpu_times(), _net_counters())
        self._looks.append(seen)
        return seen

    def take(self, fresh: bool) -> None:
        """`fresh`: over no longer than it must be, as when something was just changed."""
        now = self.look()
        old = [look for look in self._looks if now.at - look.at >= SPAN_S]
        if not fresh and now.at - self._taken.at >= SPAN_S:
            self._base = self._taken
        else:
            self._base = old[-1] if old else now
        self._now = now
        if not fresh:
            self._taken = now

    def begin_anew(self) -> None:
        self._taken = self._looks[-1]
        self._looks = collections.deque([self._taken], maxlen=KEPT)

    def ready_in(self) -> float:
        return max(0.0, self._looks[0].at + SPAN_S - time.monotonic())

    def cpu_percent(self) -> Optional[float]:
        now, before = self._now.cpu, self._base.cpu
        if not now or not before or now[1] <= before[1]:
            return None
        return round(min(100.0, max(0.0, 100 * (now[0] - before[0]) / (now[1] - before[1]))), 2)

    def network(self) -> Dict[str, Dict[str, float]]:
        spent, before = self._now.at - self._base.at, self._base.net
        if spent <= 0:
            return {}
        return {
            name: {
                "rx_bytes": round(max(0.0, rx - before[name][0]) / spent, 1),
                "tx_bytes": round(max(0.0, tx - before[name][1]) / spent, 1),
            }
            for name, (rx, tx) in self._now.net.items()
            if name in before
        }


def _cpu_times() -> Optional[Tuple[float, float]]:
    line = (maybe("/proc/stat") or "").partition("\n")[0].split()
    if len(line) < 5 or line[0] != "cpu":
        return None
    times = [float(value) for value in line[1:9]]
    idle = times[3] + (times[4] if len(times) > 4 else 0.0)
    return sum(times) - idle, sum(times)


def _net_counters() -> Dict[str, Tuple[float, float]]:
    counters = {}
    for line in (maybe("/proc/net/dev") or "").splitlines()[2:]:
        name, _, rest = line.partition(":")
        parts = rest.split()
        if len(parts) >= 9:
            counters[name.strip()] = (float(parts[0]), float(parts[8]))
    return dict(sorted(counters.items())[:200])
