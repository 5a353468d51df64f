"""Hosts whose metrics are seen live and kept as history too, in virtual time: what a rule does, and would have done."""

from __future__ import annotations

from opsapp.agents.resources import Agent, agents_of
from opsapp.healing.engine import rehearsals
from opsapp.healing.records import NewRule
from opsapp.healing.whatif import PastAsked
from opsapp.monitoring.logic.settings import MonitorSettings
from opsapp.monitoring.resources import Monitor, monitors_of
from opsapp.runtime import serieswork
from opsapp.series import CODES
from opsapp.wire.records import made, plain
from tests.engine.healing import Ward
from tests.support.hosts import place

DAY = 86400
HELD_S = 6  # what is held is decided by then


class PastFleet:
    """A ward whose hosts, and monitors after them, have series. A signal is a function of (number, time) to {metric:
    value}, or None while a host is silent, or nobody checks: of a monitor `status` and `response_time_ms`."""

    def __init__(self, directory, *rules, hosts=2, monitors=0, interval=60.0, metrics=("cpu_percent",), **healing):
        places = [place(f"box-{n}", f"a{n}", interval=interval) for n in range(hosts)]
        self.monitors = {hosts + n: f"m{n}" for n in range(monitors)}
        places += [
            place(f"site-{n}", None, subject=f"monitor:{name}", names=(f"site-{n}", name), interval=interval)
            for n, name in self.monitors.items()
        ]
        self.ward = Ward(directory, *rules, places=places, **healing)
        self.node, self.clock, self.interval = self.ward.node, self.ward.clock, interval
        self.series = self.node.transact(self._make, hosts, metrics)
        self.node.leases.want("series")
        self.node.leases.step()

    def _make(self, root, hosts, metrics):
        numbers = iter(self.node.series.numbers.take(hosts * len(metrics)))
        made = {}
        for n in range(hosts):
            agent = Agent(f"box-{n}", [], f"digest-{n}", self.clock.now())
            agent.series = made[n] = {metric: next(numbers) for metric in metrics}
            agents_of(root)[f"a{n}"] = agent
        for n, name in self.monitors.items():
            made[n] = self.node.series.numbers.take()[0]
            settings = MonitorSettings(name=f"site-{n}", type="http", interval=int(self.interval))
            monitors_of(root)[name] = Monitor(settings, made[n], self.clock.now())
        return made

    def live(self, seconds, signal, *, rules=True):
        """Time goes by; `rules`: they are looked at as it does, and what they hold is decided when that is over."""
        for step in range(int(seconds / self.interval)):
            self.clock.advance(self.interval - HELD_S * (rules and step > 0))
            for n, numbers in self.series.items():
                values = signal(n, self.clock.now())
                if values:
                    self._seen(n, numbers, values, rules)
            if rules:
                self.ward.turn()
                self.ward.turn(HELD_S)
            if (step + 1) * self.interval % (6 * 3600) == 0:
                self.settle()
        self.settle()

    def _seen(self, n, numbers, values, rules):
        journal, at = self.node.series.journal, int(self.clock.now() * 1000)
        if n in self.monitors:
            journal.add(numbers, at, values.get("response_time_ms"), CODES[values["status"]], 3 * int(self.interval))
        else:
            for metric, value in values.items():
                journal.add(numbers[metric], at, value)
        if rules:
            self.ward.report(f"monitor:{self.monitors[n]}" if n in self.monitors else f"agent:a{n}", **values)

    def settle(self):
        """What was measured into the store, and what is due there: folded, summed up, retired."""
        while serieswork.flush(self.node):
            pass
        serieswork.fold(self.node)
        while self._is_merged():
            pass

    def _is_merged(self):
        before = self.node.state()
        serieswork.merge(self.node)
        return self.node.state() is not before

    def asked(self, rule, days=7.0, since=None, until=None):
        """What the rule would have done."""
        span = rehearsals.span_of(PastAsked(None, days, since, until), self.clock.now())
        draft = made(NewRule, rule)
        return plain(rehearsals.rehearse(self.node, self.node.transact(rehearsals.policy_of, draft, span), span))

    def close(self):
        self.ward.close()
