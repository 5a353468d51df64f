"""One cause, two rules, the settings that opsapp comes with: a host's service is restarted once."""

import pytest

from tests.fleet.healed import Patient, final, promote
from tests.support.waiting import until

SLOW = "[Service]\nExecStartPre=/bin/sleep 15\n"
RULE = {  # as the README has it
    "id": "nginx-down",
    "condition": 'monitor.status == "down"',
    "severity": "critical",
    "targets": {"monitors": ["tag:web"]},
    "initial_level": "notify",
    "escalation_chain": [{"action": "restart_service", "params": {"service": "nginx"}}],
}


@pytest.fixture
def serve(lab, tmp_path):
    with lab.serve(tmp_path / "server") as made:
        yield made


@pytest.fixture
def patient(host, serve):
    made = Patient(host, serve).until_online().watch()
    host.write("/etc/systemd/system/nginx.service.d/slow.conf", SLOW)
    host.exec("systemctl", "daemon-reload")
    serve.admin.post("/api/healing/rules", RULE)
    for rule in (RULE["id"], "default-service"):
        promote(serve.admin, rule)
    until(lambda: made.agent()["metrics"]["services"].get("nginx") == "active", 60, what="a report of nginx")
    return made


@pytest.mark.timeout(400)
def test_a_service_that_starts_slowly_is_restarted_once_though_two_rules_see_its_failure(patient):
    starts = patient.starts()
    patient.host.exec("systemctl", "kill", "--signal=KILL", "nginx")

    def over():
        entries = patient.ledger("default-service") + patient.ledger(RULE["id"])
        done = [entry for entry in entries if entry["action_type"] == "restart_service" and entry["state"] == "final"]
        return done if done and len(final(entries)) == len(entries) and patient.monitor()["status"] == "up" else None

    done = until(over, 180, what="the end of the heal")
    until(lambda: patient.incidents("open") == [], 60, what="the incident's end")
    assert patient.starts() == starts + 1, done
    assert [entry["outcome"] for entry in done if entry["action_success"]] == ["verified"], done
