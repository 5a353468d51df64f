"""Four breakages of a real unit: the host names the cause, nothing is tried in vain, and the cause is told."""

import pytest

from tests.fleet.care import Ward
from tests.fleet.healed import promote
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)  # so that what is waited for in vain is told with the heal's story

RULE = {
    "id": "nginx-dead",
    "condition": 'service.nginx.state != "active"',
    "severity": "critical",
    "escalation_chain": [{"action": "restart_service"}],
    "settle_s": 1,
    "verify_timeout_s": 5,
    "cooldown_s": 1,
    "initial_level": "notify",
}
HOLDS = "import socket,time; taken=socket.create_server((str(),80)); time.sleep(100000)"
HOLDER = f"[Service]\nExecStart=/usr/bin/python3 -c '{HOLDS}'\n"


@pytest.fixture
def ward(host, server):
    made = Ward(host, server({"healing": {"default_rules": False}}))
    made.api.post("/api/healing/rules", RULE)
    promote(made.api, RULE["id"])
    until_active(made)
    return made


def until_active(ward):
    until(lambda: ward.metrics()["services"].get("nginx") == "active", 60, what="nginx in a report as active")


def broken(ward, cause_id, *fault, outcome="skipped"):
    """The entry and the case of the next failure, once it has ended so."""
    target, known = f"{ward.host.name}/nginx", ward.ledger(RULE["id"], f"{ward.host.name}/nginx")
    for argv in fault:
        ward.host.exec(*argv, check=False)
    entry = ward.ended(RULE["id"], target, outcome, 90, after=max((old["id"] for old in known), default=0))
    case = ward.api.get(f"/api/healing/cases/{entry['case_id']}")
    assert entry["cause"] is not None, case["why"]
    assert (entry["cause"]["id"], case["cause"]["id"]) == (cause_id, cause_id), case
    return entry, case


def mended(ward, *mend):
    for argv in mend:
        ward.host.exec(*argv)
    ward.host.exec("systemctl", "restart", "nginx")
    until_active(ward)


@pytest.mark.nightly("the core list has each cause in tests of the agent, and the gate in tests of the engine")
def test_the_host_says_why(ward):
    stop = ("systemctl", "stop", "nginx")
    ward.host.write("/etc/systemd/system/holder.service", HOLDER)
    ward.host.exec("systemctl", "daemon-reload")
    begin = "systemctl stop nginx; systemctl start holder; sleep 1; systemctl start nginx"
    entry, case = broken(ward, "port_held", ("sh", "-c", begin), outcome="failed")
    pid = ward.host.exec("systemctl", "show", "--property=MainPID", "--value", "holder").stdout.strip()
    assert entry["cause"]["text"] == f"port 80 is held by another process: python3 (pid {pid})"
    mended(ward, ("systemctl", "stop", "holder"))
    known = ward.commands()

    entry, _ = broken(ward, "masked", ("systemctl", "mask", "--now", "nginx"))
    assert entry["reason"] == "in_vain: nginx is masked: nothing can start it until somebody unmasks it"
    mended(ward, ("systemctl", "unmask", "nginx"))

    spoil = "echo 'lsten 80;' >> /etc/nginx/nginx.conf"
    _, case = broken(ward, "config_broken", ("sh", "-c", spoil), stop)
    assert any("lsten" in line for line in case["cause"]["evidence"])
    mended(ward, ("sed", "-i", "/^lsten/d", "/etc/nginx/nginx.conf"))

    entry, _ = broken(ward, "binary_missing", stop, ("mv", "/usr/sbin/nginx", "/root/nginx"))
    assert entry["cause"]["text"] == "the program of nginx is gone: /usr/sbin/nginx does not exist"
    mended(ward, ("mv", "/root/nginx", "/usr/sbin/nginx"))
    assert ward.commands() == known  # none of the three was tried in vain

    assert ward.api.get("/api/healing/ledger/verify")["valid"] is True
