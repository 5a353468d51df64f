"""Chaos on a real host: what is tagged `chaos` is really broken, healed or not, and whole again at the end."""

import pytest

from tests.fleet.care import SERVICE, Ward
from tests.fleet.conftest import QUICK
from tests.fleet.healed import final, newest, promote
from tests.support.waiting import until

RULE = {
    "id": "chaos-unit",
    "condition": 'service.chaos-web.state != "active"',
    "action": {"type": "restart_service"},
    "initial_level": "notify",
    "settle_s": 0.5,
    "cooldown_s": 1,
    "verify_timeout_s": 10,
}
COUNT = "ExecStartPre=/bin/sh -c 'echo %n >> /root/starts'\nExecStopPost=/bin/sh -c 'echo %n >> /root/stops'"
WATCH = {"watch_s": 100, "revert_after_s": 300}  # upper bounds: a run goes on as soon as it can


@pytest.fixture
def ward(host, server):
    for name in ("chaos-web", "bystander"):
        host.write(f"/etc/systemd/system/{name}.service", SERVICE.format(start="/bin/sleep infinity", more=COUNT))
    host.exec("systemctl", "daemon-reload")
    host.exec("systemctl", "enable", "--now", "chaos-web", "bystander")
    healing = {**QUICK["healing"], "default_rules": False, "chaos": WATCH, "rules": [RULE]}
    made = Ward(host, server({"healing": healing}))
    assert made.api.request("POST", "/api/healing/chaos/run", asked()).status == 409
    made.api.put(f"/api/agents/{made.agent_id}", {"tags": ["chaos"]})
    made.api.timeout = 600  # a run takes as long as what it watches
    return made


def asked():
    return {"scenario": "approval_timeout", "dry_run": False}


def lines(ward, name):
    return ward.host.exec("sh", "-c", f"cat /root/{name} 2>/dev/null || true").stdout.split()


def run(ward):
    """What the run has led to. Withdrawn is what was about to begin when a fault ended: by chance, and of no effect."""
    before = newest(entries(ward))
    found = ward.api.post("/api/healing/chaos/run", asked())
    assert [one for one in found["expectations"] if not one["passed"]] == []
    assert found["status"] == "passed"
    assert found["dry_run"] is False
    assert ward.host.exec("systemctl", "is-active", "chaos-web").stdout.strip() == "active"
    until(lambda: len(final(entries(ward))) == len(entries(ward)), 60, what="the end of every entry")
    return [one for one in entries(ward) if one["id"] > before and one["outcome"] != "withdrawn"]


def entries(ward):
    return ward.ledger(RULE["id"], f"{ward.host.name}/chaos-web")


def test_a_unit_is_really_stopped_healed_and_whole_again(ward):
    told = run(ward)  # nobody heals it at notify: the run itself ends the fault
    assert {one["outcome"] for one in told} == {"notified"}
    assert lines(ward, "stops") == ["chaos-web.service"]
    until(lambda: ward.metrics()["services"]["chaos-web"] == "active", 30, what="a report that says so")
    until(lambda: ward.api.get("/api/healing/health")["active_heals"] == 0, 30, what="no heal under way")
    promote(ward.api, RULE["id"])
    healed = run(ward)
    assert [(one["outcome"], one["action_type"]) for one in healed] == [("verified", "restart_service")]
    assert lines(ward, "stops") == ["chaos-web.service"] * 2
    assert sorted(lines(ward, "starts")) == ["bystander.service", *["chaos-web.service"] * 3]
    assert ward.api.get("/api/healing/ledger/verify")["valid"] is True
