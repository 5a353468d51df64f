"""Each fault that a chaos scenario injects, on a real host: it is told or healed, and over at the end.

What the pipeline makes of all twelve is in tests/engine/test_healing_chaos.py.
"""

import pytest

from opsapp.healing.engine.chaos.scenarios import SCENARIOS
from tests.fleet.care import SERVICE, Ward, make_container
from tests.fleet.conftest import QUICK
from tests.fleet.healed import promote
from tests.support.waiting import until

pytestmark = pytest.mark.nightly("every fault; the core list has one")

SHORT = {"initial_level": "notify", "settle_s": 0.5, "cooldown_s": 1, "verify_timeout_s": 30}
RULES = [
    {"id": "unit", "condition": 'service.chaos-web.state != "active"', "action": {"type": "restart_service"}, **SHORT},
    {
        "id": "container",
        "condition": 'container.chaos-box.state != "running"',
        "action": {"type": "restart_container"},
        **SHORT,
    },
]
CPU = {"id": "cpu", "condition": "cpu_percent > 60", "action": {"type": "clear_cache"}, **SHORT}
HEALED = {  # who keeps a processor busy is only told of
    "unit": ("restart_service", "chaos-web"),
    "container": ("restart_container", "chaos-box"),
}
WATCH = {"watch_s": 150, "revert_after_s": 300}  # upper bounds: a run goes on as soon as it can


@pytest.fixture
def ward(host, server):
    host.write("/etc/systemd/system/chaos-web.service", SERVICE.format(start="/bin/sleep infinity", more=""))
    host.exec("systemctl", "daemon-reload")
    host.exec("systemctl", "enable", "--now", "chaos-web")
    make_container(host, "chaos-box", "--stop-timeout", "1")
    healing = {**QUICK["healing"], "default_rules": False, "chaos": WATCH, "rules": RULES}
    made = Ward(host, server({"healing": healing}))
    made.api.put(f"/api/agents/{made.agent_id}", {"tags": ["chaos"]})
    made.api.timeout = 300  # a run takes as long as what it watches
    for rule in HEALED:
        promote(made.api, rule)
    return made


def is_whole(ward):
    metrics = ward.metrics()
    return metrics["services"].get("chaos-web") == "active" and metrics["containers"].get("chaos-box") == "running"


def inject(ward, name):
    until(lambda: is_whole(ward), 90, what="a report of a whole host")
    found = ward.api.post("/api/healing/chaos/run", {"scenario": name, "dry_run": False})
    assert [one for one in found["expectations"] if not one["passed"]] == [], name
    assert (found["name"], found["status"]) == (name, "passed")


BY_FAULT = {scenario.real: name for name, scenario in SCENARIOS.items()}


@pytest.mark.timeout(900)
def test_each_fault_is_injected_answered_and_ended(ward):
    assert BY_FAULT.keys() == {*HEALED, "cpu"}
    for fault, (action, part) in HEALED.items():
        inject(ward, BY_FAULT[fault])
        target = f"{ward.host.name}/{part}"
        [*_, entry] = ward.ledger(fault, target)
        assert (entry["outcome"], entry["action_type"]) == ("verified", action), ward.why(fault, target)
    ward.api.post("/api/healing/rules", CPU)  # last: while the host itself is ill, what is on it is not healed
    inject(ward, BY_FAULT["cpu"])
    assert ward.api.get("/api/healing/ledger/verify")["valid"] is True
