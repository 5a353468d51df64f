"""What a heal is worth, on real hosts whose unit has a random RestartSec: an action that does nothing is not promoted,
one that helps is known to."""

import random
import threading

import pytest

from tests.fleet.conftest import QUICK
from tests.fleet.failing import COOLDOWN_S, NEVER_S, FailingUnit

UNIT = "luck"
SETTLE_S, VERIFY_S = 3, 2
WINDOW_S = SETTLE_S + VERIFY_S
RULE = {
    "condition": f'service.{UNIT}.state != "active"',
    "severity": "critical",
    "settle_s": SETTLE_S,
    "verify_timeout_s": VERIFY_S,
    "cooldown_s": COOLDOWN_S,
    "initial_level": "notify",
}
HELPS, NOTHING = ("restart_service", {"service": UNIT}), ("restart_service", {"service": "cron"})


def settings(**promotion):
    return {"healing": {**QUICK["healing"], "default_rules": False, "promotion": promotion, "holdout": {"share": 0.1}}}


class World:
    """A rule, hosts of its own, and how often their unit comes back by itself within the window."""

    def __init__(self, serve, hosts, rule_id, deed, alone, seed=18):
        self.serve, self.rule_id, self.alone, self.dice = serve, rule_id, alone, random.Random(seed)
        self.units = [FailingUnit(host, serve, UNIT) for host in hosts]
        targets = {"agents": [host.name for host in hosts], "monitors": []}
        chain = [{"action": deed[0], "params": deed[1]}]
        serve.admin.post("/api/healing/rules", {**RULE, "id": rule_id, "targets": targets, "escalation_chain": chain})

    def restart_s(self):
        return self.dice.uniform(1.8, 2.8) if self.dice.random() < self.alone else NEVER_S

    def lift(self):
        return self.serve.admin.get(f"/api/healing/lift?rule_id={self.rule_id}")

    def level(self):
        rules = {trust["rule_id"]: trust for trust in self.serve.admin.get("/api/healing/trust")}
        return rules[self.rule_id]["current_level"]

    def cases(self, count, enough=lambda: False):
        """So many outages on each host, one after the other, until it is enough."""
        for unit in self.units:
            yield threading.Thread(target=self._cases, args=(unit, count, enough))

    def _cases(self, unit, count, enough):
        for _ in range(count):
            if enough():
                return
            unit.case(self.rule_id, self.restart_s(), WINDOW_S)


@pytest.fixture
def hosts(lab):
    made = []

    def make(count):
        made.extend(lab.host() for _ in range(count))
        return made[-count:]

    yield make
    for host in made:
        lab.remove(host)


@pytest.fixture
def live(monkeypatch):
    """What goes wrong in a thread fails the test."""
    mistakes = []
    monkeypatch.setattr(threading, "excepthook", lambda args: mistakes.append(args.exc_value))

    def run(*threads):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert mistakes == []

    return run


def shown(world):
    found = world.lift()
    return f"{world.rule_id} {world.level()}: " + ", ".join(
        f"{name} {found[name]}" for name in ("treated", "control", "lift", "low", "high", "verdict")
    )


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_an_action_that_helps_is_promoted_and_one_that_does_nothing_is_not(server, hosts, live):
    serve = server(settings(triggers=5, executions=4, success_rate=0.8, bound=0.2))
    nothing = World(serve, hosts(4), "nothing", NOTHING, alone=1.0)
    helps = World(serve, hosts(5), "helps", HELPS, alone=0.0)
    live(*nothing.cases(3), *helps.cases(5, enough=lambda: helps.level() == "execute"))
    print(shown(nothing), shown(helps), sep="\n")  # the figures of a soak are read
    assert (helps.level(), helps.lift()["verdict"]) == ("execute", "helps"), shown(helps)
    assert nothing.level() == "approve", shown(nothing)
    found = nothing.lift()
    assert found["treated"]["n"] > 0, found
    assert found["low"] < 0 < found["high"], found
