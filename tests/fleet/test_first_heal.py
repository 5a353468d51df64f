"""The first heal, on real hosts: nginx dies, the agent restarts it, the service proves that it is up."""

import threading

import pytest

from tests.fleet.conftest import QUICK
from tests.fleet.healed import RULE, SERVICE_RULE, Patient, final, heal_once, promote, verified
from tests.fleet.lab.lab import together
from tests.support.waiting import until

HOSTS, TIMES = 10, 2  # 20 heals: a host's second is that of a condition that comes and goes
WATCHED = {**RULE, "waves": "off"}  # all at once
REPORTED = {**SERVICE_RULE, "targets": {"agents": ["tag:reported"]}}
TOLD = {**RULE, "id": "nginx-told", "targets": {"monitors": ["tag:told"]}}
GHOST = {
    **SERVICE_RULE,
    "id": "ghost",
    "condition": 'service.ghost.state != "active"',
    "targets": {"agents": ["tag:haunted"]},
    "verify_timeout_s": 6,
}
NOBODY = {**GHOST, "id": "nobody", "condition": "no_such_metric < 1"}


@pytest.fixture(scope="module")
def serve(lab, tmp_path_factory):
    """One service for all: the rules of each test are about hosts with a tag of its own. Agents report as often as they
    do by themselves: what changes they tell at once."""
    healing = {**QUICK["healing"], "rules": [REPORTED, GHOST, NOBODY]}
    with lab.serve(tmp_path_factory.mktemp("server"), {"healing": healing}) as made:
        yield made


@pytest.fixture
def patients(lab, serve):
    """`patients(tag, n)`: n hosts with an agent and a watched nginx; removed afterwards."""
    made = []

    def care(tag, count=1):
        new = together(lambda host: Patient(host, serve, tag), lab.boot(count))
        made.extend(new)
        return together(lambda patient: patient.until_online().watch(), new)

    yield care
    for patient in made:
        patient.discharge()
    lab.remove(*(patient.host for patient in made))


@pytest.mark.timeout(600)
def test_nginx_is_healed_20_times_out_of_20(serve, patients):
    serve.admin.post("/api/healing/rules", WATCHED)
    promote(serve.admin, WATCHED["id"])
    mistakes = []

    def heals(patient):
        try:
            for _ in range(TIMES):
                heal_once(patient, WATCHED["id"])
        except Exception as mistake:
            mistakes.append(mistake)

    threads = [threading.Thread(target=heals, args=(patient,)) for patient in patients("web", HOSTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mistakes == []
    entries = serve.admin.get(f"/api/healing/ledger?rule_id={WATCHED['id']}&limit=1000")
    assert len(verified(entries)) == HOSTS * TIMES == 20
    assert serve.admin.get("/api/healing/ledger/verify")["valid"] is True


def test_a_rule_from_the_yaml_heals_on_what_the_agent_reports(serve, patients):
    (patient,) = patients("reported")
    promote(serve.admin, REPORTED["id"])
    heal_once(patient, REPORTED["id"], by_monitor=False)


def test_at_notify_nothing_is_touched(serve, patients):
    serve.admin.post("/api/healing/rules", TOLD)
    (patient,) = patients("told")
    starts = patient.starts()
    patient.stop_nginx()
    until(lambda: [e for e in final(patient.ledger(TOLD["id"])) if e["outcome"] == "notified"], 40, what="a notice")
    until(lambda: patient.incidents("open"), 10, what="an open incident")
    assert serve.admin.get(f"/api/agents/{patient.agent_id}/commands") == []
    assert patient.nginx() == "inactive"
    assert patient.starts() == starts
    assert verified(patient.ledger(TOLD["id"])) == []


VANISHING = """[Service]
ExecStartPre=/bin/rm -f /etc/systemd/system/ghost.service
ExecStartPre=/bin/systemctl daemon-reload
"""


def test_without_the_metric_nothing_is_verified(serve, patients):
    """The heal's own action takes the measured service away: what is not known is not proof."""
    (patient,) = patients("haunted")
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
