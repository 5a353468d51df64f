"""Whether our own network works: asked when a check fails, so that a cut cable here opens no incident there."""

from __future__ import annotations

from collections.abc import Sequence

import gevent
from gevent.lock import Semaphore

from opsapp.monitoring.probes.prober import Prober
from opsapp.runtime.clock import Clock
from opsapp.wire.probing import ProbeTarget


class Connectivity:
    """`gone()` is true when every reference fails. Without references nobody can tell, so the network is not gone."""

    def __init__(self, prober: Prober, references: Sequence[str], clock: Clock, timeout: float, remember: float):
        self._prober = prober
        self._targets = [_target(reference, timeout) for reference in references]
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
                asked = [gevent.spawn(self._prober.probe, target) for target in self._targets]
                gevent.joinall(asked)
                self._gone = not any(each.value is not None and each.value.ok for each in asked)
                self._asked_at = self._clock.monotonic()
        return self._gone


def _target(reference: str, timeout: float) -> ProbeTarget:
    kind = reference.partition("://")[0]
    return ProbeTarget("connectivity", "http" if kind == "https" else kind, reference, timeout)
