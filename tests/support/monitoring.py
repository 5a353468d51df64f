"""Checks under a test's own clock: the real dispatcher and the real store, outcomes as the test writes them."""

from __future__ import annotations

import gevent

from opsapp.monitoring.engine.checks import Checker
from opsapp.monitoring.engine.watch import watch_of
from opsapp.runtime import serieswork
from opsapp.wire.probes import Outcome

WARNS = Outcome(True, 12.0, "it fills", degraded=True)
UP, DOWN, BLIND = Outcome(True, 12.0, "HTTP 200"), Outcome(False, None, "HTTP 500"), Outcome(None, None, "cannot look")


class SeeingChecker(Checker):
    """What its checks find comes from `see`, whichever configuration they are made by."""

    def __init__(self, watch, see):
        self._see, self._seen_by = see, None
        super().__init__(watch)

    def configure(self):
        """A changed configuration makes a new `Measuring`, which looks at the real addresses."""
        super().configure()
        if self._seen_by is not self.measuring:
            self._seen_by = self.measuring
            self.measure_really = self.measuring.measure
            self.measuring.measure = self._see
            self.measuring.begin = lambda *_: False  # every check by way of `measure`


class Lookout:
    """Makes the checks of a Service without a hub; `sees[monitor_id]` is what its next checks find."""

    def __init__(self, service):
        self.service = service
        self.watch = watch_of(service.node)
        self.checker = self.watch.checker = SeeingChecker(self.watch, self._see)
        self.sees: dict[str, Outcome] = {}
        self.checked: list[tuple[str, float]] = []
        self.started = service.clock.now()
        service.closing.append(self.close)

    def _see(self, entry):
        self.checked.append((entry.id, self.service.clock.now() - self.started))
        return self.sees[entry.id] if entry.id in self.sees else self.checker.measure_really(entry)

    def close(self):
        """Each prober has files of its own: what a thousand tests leave open is more than a process may have."""
        self.checker.measuring.prober.close()

    def run(self, seconds, step=0.5):
        """Let the time pass; every check that falls due is made and finished."""
        for _ in range(round(seconds / step)):
            self.tick()
            self.service.clock.advance(step)
        self.tick()

    def tick(self):
        self.watch.follow()
        self.checker.dispatch()
        while self.checker.running:
            gevent.sleep(0)
        self.watch.follow()

    def add(self, **settings):
        body = {"name": "Shop", "type": "http", "url": "http://shop.example/", "interval": 60, "retries": 2} | settings
        return self.service.otto.post_json("/api/monitoring/endpoints", body).json["id"]

    def watch_through(self, *phases, step=10, **settings):
        """The id of a monitor that saw these outcomes, each for so many seconds. All is committed at the end."""
        monitor_id = self.add(retries=0, **settings)
        for outcome, seconds in phases:
            self.sees[monitor_id] = outcome
            self.run(seconds, step=step)
        serieswork.flush(self.service.node)
        return monitor_id

    def monitor(self, monitor_id):
        return self.service.otto.get(f"/api/monitoring/endpoints/{monitor_id}").json

    def incidents(self, query=""):
        return self.service.vera.get(f"/api/monitoring/incidents?{query}").json
