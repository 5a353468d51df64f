"""Healing driven by hand: fake clock, hosts at the wire, real store, real stages."""

from __future__ import annotations

from dataclasses import is_dataclass, replace

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.default_rules import declare
from opsapp.healing.engine.inventory import IFleetAccess
from opsapp.healing.engine.pipeline import IHealingEngine
from opsapp.healing.logic.graph import Dependency
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of, ledgercheck
from opsapp.healing.resources.rules import put_rule
from opsapp.healing.stages import trust as governor
from opsapp.runtime.cluster import leases
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.wire.records import made
from tests.support.app import Service
from tests.support.hosts import Hosts

NGINX = {
    "id": "nginx",
    "condition": 'service.nginx.state == "failed"',
    "severity": "critical",
    "initial_level": "notify",
    "action": {"type": "restart_service"},
}
QUICK = {**NGINX, "settle_s": 5, "verify_timeout_s": 55, "cooldown_s": 60}  # whose trials have a window of a minute
ALL = {"share": 0.5}


def having(section, given):
    """The section with these values; a mapping stands for some values of a section below it."""
    changed = {}
    for name, value in given.items():
        below = getattr(section, name)
        changed[name] = having(below, value) if is_dataclass(below) and isinstance(value, dict) else value
    return replace(section, **changed)


class Ward:
    """A service with one host, one rule and the time in hand."""

    def __init__(self, directory, *rules, places=(), clock=None, **healing):
        self.service = Service(directory, clock)
        self.node = self.service.node
        self.configure(default_rules=False, **{"holdout": {"share": 0}, **healing})  # a test leaves nothing to chance
        self.clock = self.service.clock
        self.hosts = Hosts(self.node, *places)
        self.node.registry.registerUtility(self.hosts, IFleetAccess)
        self.engine = self.node.registry.getUtility(IHealingEngine)
        self.engine.watch()
        self.node.transact(self._only, rules or (NGINX,))
        self.node.leases.want("healing")
        self.node.leases.step()

    def configure(self, **healing):
        """As if the YAML file said this in its section `healing`."""
        if "dependencies" in healing:
            healing["dependencies"] = tuple(made(Dependency, entry) for entry in healing["dependencies"])
        self.node.config = self.node.config.having(having(self.node.config[HealingSettings], healing))

    def _only(self, root, rules):
        declare(root, self.node.config)
        for rule in rules:
            put_rule(
                root,
                rule["id"],
                made(RuleSettings, {"initial_level": "notify", **rule}),
                source="api",
                now=self.clock.now(),
            )

    def close(self):
        self.service.close()

    def at(self, level, rule_id="nginx"):
        """Put a rule at a level, whatever its evidence."""

        def move(root):
            state = healing_of(root)["trust"][rule_id]
            state.become(root, state.trust._replace(current_level=level), cause="test", now=self.clock.now())

        self.node.transact(move)
        return self

    def report(self, subject="agent:a1", **values):
        """A fresh observation; names with dots are given as `service__nginx__state`."""
        self.engine.readings.live.update(
            subject, {name.replace("__", "."): value for name, value in values.items()}, self.clock.now()
        )
        return self

    def turn(self, seconds=0.0):
        """Let time pass, and everything that is due happen."""
        self.clock.advance(seconds)
        for _ in range(50):
            looked = self.engine.look()
            if not self.engine.work() and not looked:
                return self
        raise AssertionError("it never comes to rest")

    def pass_time(self, seconds, step=1.0, **values):
        """Time passes while the host goes on reporting the same."""
        while seconds > 0:
            self.clock.advance(min(step, seconds))
            seconds -= step
            if values:
                self.report(**values)
            self.turn()
        return self

    def count_events(self, step):
        """Have every step of alerts, in this process and those after it, go through `step(alerts, now)`."""
        self.step = step
        self.engine.alerts.step = lambda now, budget_s=1.0: step(self.engine.alerts, now, budget_s)

    def restart(self):
        """The process is gone with all it had in memory; another one takes over the same store."""
        from opsapp.healing.engine.pipeline import HealingEngine

        self.node.transact(leases.release, self.node.owner)
        self.node.leases.held.clear()
        self.node.leases.step()  # with a token of its own
        live = self.engine.readings.live
        live._listeners.clear()
        self.engine = HealingEngine(self.node)
        self.engine.watch()
        self.node.registry.registerUtility(self.engine, IHealingEngine)
        if getattr(self, "step", None):
            self.count_events(self.step)
        return self

    @property
    def ledger(self):
        return self.node.transact(lambda root: [dict(e.fields) for e in healing_of(root)["ledger"].entries.values()])

    @property
    def cases(self):
        return self.node.transact(lambda root: [case.plain() for case in healing_of(root).book.cases.values()])

    def trust(self, rule_id="nginx") -> governor.Trust:
        return self.node.transact(lambda root: healing_of(root)["trust"][rule_id].trust)

    def events(self, kind):
        from opsapp.runtime.events import read_since

        return [event.data for event in self.node.transact(lambda root: read_since(root, {})[1]) if event.kind == kind]

    def verdict(self):
        """What the service says of its ledger."""
        return self.node.transact(lambda root: ledgercheck.verdict(healing_of(root)["ledger"], chain_key(root)))

    def heal(self, snapshot=True, **after):
        """Answer as a host does that performs what it is asked: snapshot, action, then `after` is what it reports."""
        self.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}} if snapshot else None)
        self.turn(1)
        self.hosts.finish("execute", handler="systemctl")
        self.turn(1)
        self.turn(6)
        self.clock.advance(0.5)
        self.report(**after)
        self.turn(0.5)
        return self.until_judged(**after)

    def until_judged(self, subject="agent:a1", step=5.0, **values):
        """The host goes on reporting the same until no heal waits for its proof any more."""
        while any((case["state"], case["phase"]) == ("verifying", None) for case in self.cases):
            self.clock.advance(step)
            self.report(subject, **values).turn()
        return self
