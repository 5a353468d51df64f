"""The first heal, on real hosts: nginx dies, the agent restarts it, the service proves that it is up."""

import threading

import pytest

from tests.fleet.healed import RULE, SERVICE_RULE, Patient, final, heal_once, promote, verified
from tests.support.waiting import until


@pytest.fixture
def patients(lab):
    """`patients(serve, n)`: n hosts with an agent and a watched nginx; removed afterwards."""
    hosts = []

    def care(serve, count=1):
        new = [lab.host() for _ in range(count)]
        hosts.extend(new)
        return [Patient(host, serve).until_online().watch() for host in new]

    yield care
    for host in hosts:
        lab.remove(host)


@pytest.mark.timeout(600)
def test_nginx_is_healed_20_times_out_of_20(server, patients):
    serve = server()
    serve.admin.post("/api/healing/rules", RULE)
    promote(serve.admin, RULE["id"])
    mistakes = []

    def five_times(patient):
        try:
            for _ in range(5):
                heal_once(patient, RULE["id"])
        except Exception as mistake:
            mistakes.append(mistake)

    threads = [threading.Thread(target=five_times, args=(patient,)) for patient in patients(serve, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mistakes == []
    entries = serve.admin.get(f"/api/healing/ledger?rule_id={RULE['id']}&limit=1000")
    assert len(verified(entries)) == 20
    assert serve.admin.get("/api/healing/ledger/verify")["valid"] is True


def test_a_rule_from_the_yaml_heals_on_what_the_agent_reports(server, patients):
    serve = server({"healing": {"rules": [SERVICE_RULE]}})
    (patient,) = patients(serve)
    promote(serve.admin, SERVICE_RULE["id"])
    heal_once(patient, SERVICE_RULE["id"])


def test_at_notify_nothing_is_touched(server, patients):
    serve = server()
    serve.admin.post("/api/healing/rules", RULE)
    (patient,) = patients(serve)
    starts = patient.starts()
    patient.stop_nginx()
    until(lambda: [e for e in final(patient.ledger(RULE["id"])) if e["outcome"] == "notified"], 40, what="a notice")
    until(lambda: patient.incidents("open"), 10, what="an open incident")
    assert serve.admin.get(f"/api/agents/{patient.agent_id}/commands") == []
    assert patient.nginx() == "inactive"
    assert patient.starts() == starts
    assert verified(patient.ledger(RULE["id"])) == []


VANISHING = """[Service]
ExecStartPre=/bin/rm -f /etc/systemd/system/ghost.service
ExecStartPre=/bin/systemctl daemon-reload
"""


def test_without_the_metric_nothing_is_verified(server, patients):
    """The heal's own action takes the measured service away: what is not known is not proof."""
    rule = {**SERVICE_RULE, "id": "ghost", "condition": 'service.ghost.state != "active"', "verify_timeout_s": 6}
    serve = server({"healing": {"rules": [rule, {**rule, "id": "nobody", "condition": "no_such_metric < 1"}]}})
    (patient,) = patients(serve)
    for name in ("ghost", "nobody"):
        promote(serve.admin, name)
    unit = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"
    patient.host.write("/etc/systemd/system/ghost.service", unit)
    patient.host.write("/etc/systemd/system/nginx.service.d/vanish.conf", VANISHING)
    patient.host.exec("systemctl", "daemon-reload")
    patient.host.exec("systemctl", "enable", "--now", "ghost")
    until(lambda: patient.agent()["metrics"]["services"].get("ghost") == "active", 30, what="a report of the ghost")
    patient.host.exec("systemctl", "stop", "ghost")
    entry = until(lambda: final(patient.ledger("ghost")), 60, what="the end of the heal")[0]
    assert entry["outcome"] == "inconclusive"
    assert entry["verified"] == 0
    assert patient.ledger("nobody") == []
