"""Whether a heal helps, on real hosts: a coin says who is healed at once and who is left alone first, and both arms are
judged by what their hosts report. Whether rules are believed rightly takes hundreds of outages: unit/healing."""

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
    "action": {"type": "restart_service", "params": {"service": UNIT}},
}
HALF = {"share": 0.5}


class Patients:
    """Hosts, and a rule for each of them: an outage of one rule has one coin, however many hosts it has."""

    def __init__(self, serve, hosts):
        self.serve, self.units = serve, {}
        for number, host in enumerate(hosts):
            rule_id = f"luck-{number}"
            targets = {"agents": [host.name], "monitors": []}
            serve.admin.post("/api/healing/rules", {**RULE, "id": rule_id, "targets": targets})
            for level in ("approve", "execute"):
                serve.admin.post(f"/api/healing/trust/{rule_id}/promote", {"level": level})
            self.units[rule_id] = FailingUnit(host, serve, UNIT)

    def fail(self, restart_s):
        """One outage of each, all at once."""
        return [
            threading.Thread(target=unit.case, args=(rule_id, restart_s(number), WINDOW_S))
            for number, (rule_id, unit) in enumerate(self.units.items())
        ]

    def learned(self):
        """For each rule: the arm of its last case, and what is known of the rule."""
        for rule_id, unit in self.units.items():
            case_id = unit.entries(rule_id)[0]["case_id"]
            case = self.serve.admin.get(f"/api/healing/cases/{case_id}")
            yield case, self.serve.admin.get(f"/api/healing/lift?rule_id={rule_id}")


@pytest.fixture
def hosts(lab):
    made = []

    def make(count):
        made.extend(lab.boot(count))
        return made[-count:]

    yield make
    lab.remove(*made)


@pytest.fixture
def live(monkeypatch):
    """What goes wrong in a thread fails the test."""
    mistakes = []
    monkeypatch.setattr(threading, "excepthook", lambda args: mistakes.append(args.exc_value))

    def run(threads):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert mistakes == []

    return run


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_coin_says_who_is_healed_at_once_and_each_arm_shows_what_becomes_of_it(server, hosts, live):
    serve = server({"healing": {**QUICK["healing"], "default_rules": False, "trial": HALF, "holdout": HALF}})
    patients = Patients(serve, hosts(8))
    live(patients.fail(lambda number: NEVER_S if number % 2 else 4.0))
    arms = set()
    for number, (case, known) in enumerate(patients.learned()):
        arms.add(case["arm"])
        stays_down, alone = number % 2, case["arm"] == "control"
        arm = {"n": 1, "recovered": int(not (stays_down and alone))}
        nothing = {"n": 0, "recovered": 0}
        assert (known["control"], known["treated"]) == ((arm, nothing) if alone else (nothing, arm)), (case, known)
        healed = stays_down or not alone
        assert case["outcome"] == ("verified" if healed else "withdrawn"), case
    assert arms == {"control", "treated"}, "with eight coins both sides fall, but for one time in 128"
