"""Whether our own network works: asked when a check fails, so that a cut cable here opens no incident there."""

from __future__ import annotations

from collections.abc import Sequence

import gevent
from gevent.lock import Semaphore

from opsapp.monitoring.probes.prober import Prober
from opsapp.runtime.clocks.clock import Clock
from opsapp.wire.probes import ProbeTarget


class Connectivity:
    """`gone()`: every reference fails. Without references the network is not gone, for nobody can tell."""

    def __init__(self, prober: Prober, references: Sequence[ProbeTarget], clock: Clock, remember: float):
        self._prober = prober
        self._targets = references
        self._remember = remember
        self._clock = clock
        self._asked_at = float("-inf")
        self._gone = False
        self._lock = Semaphore()

    def gone(self) -> bool:
        if not self._targets:
            return False
        with self._lock:
            if self._clock.monotonic() - self._asked_at > self._remember:
                probes = [gevent.spawn(self._prober.probe, target) for target in self._targets]
                gevent.joinall(probes)
                self._gone = not any(probe.value is not None and probe.value.ok for probe in probes)
                self._asked_at = self._clock.monotonic()
        return self._gone
