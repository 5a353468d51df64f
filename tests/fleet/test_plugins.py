"""Plugins on a real host: one goes critical and its cause is healed; what one leaves behind is ended."""

import pytest

from tests.fleet.care import Ward
from tests.fleet.healed import promote
from tests.support.monitors import MONITORS, checked
from tests.support.waiting import until

DIRECTORY = "/opt/plugins"
QUEUE = """#!/bin/sh
systemctl is-active --quiet worker && echo "OK - it works | waiting=0" && exit 0
echo "CRITICAL - nobody works | waiting=7"
exit 2
"""
LONG, UNIT = "60063", "60064"  # seconds of sleeps that are nobody else's
HANGING = f"""#!/bin/sh
setsid sh -c 'setsid sleep {LONG} & exec sleep {LONG}' &
sleep {LONG}
"""
RULE = {
    "id": "queue",
    "condition": 'monitor.status == "down" and plugin.waiting > 5',
    "targets": {"monitors": ["tag:queue"]},
    "escalation_chain": [{"action": "restart_service", "params": {"service": "worker"}}],
    "settle_s": 1,
    "verify_timeout_s": 20,
    "cooldown_s": 1,
    "initial_level": "notify",
}


@pytest.fixture
def ward(host, server):
    return Ward(host, server(), plugin_dirs=[DIRECTORY])


def add(ward, name, program, **more):
    ward.host.write(f"{DIRECTORY}/{name}", program, 0o755)
    body = {"name": name, "type": "plugin", "command": [f"{DIRECTORY}/{name}"], "agent_id": ward.agent_id}
    return f"{MONITORS}/{ward.api.post(MONITORS, {**body, 'interval': 5, 'timeout': 4, 'retries': 0, **more})['id']}"


def verified_after(ward, known):
    """The entry that is newer than this one, once it has its outcome."""

    def final():
        entries = ward.api.get(f"/api/healing/ledger?rule_id={RULE['id']}")
        return [entry for entry in entries if entry["id"] > known and entry["state"] == "final"]

    (entry,) = until(final, 60, what="the end of the heal")
    assert (entry["outcome"], entry["verified"]) == ("verified", 1), entry["reason"]
    return entry


def heal(ward, monitor, known=0):
    """The worker dies, the plugin sees it, and the plugin proves that a restart has helped."""
    ward.host.exec("systemctl", "stop", "worker")
    entry = verified_after(ward, known)
    assert (entry["target"], entry["action_type"], entry["action_success"]) == ("queue", "restart_service", 1)
    assert ward.host.exec("systemctl", "is-active", "worker").stdout == "active\n"
    assert checked(ward.serve, monitor, "up")["output"] == "OK - it works"
    return entry["id"]


def connected(ward):
    until(lambda: ward.api.get(f"/api/agents/{ward.agent_id}")["connected"], 60, what="the agent being connected")


@pytest.mark.timeout(600)
def test_what_a_plugin_finds_is_healed_before_and_after_restarts(ward):
    ward.run("worker")
    monitor = add(ward, "queue", QUEUE, tags=["queue"])
    waiting = until(lambda: ward.api.get(monitor)["metrics"].get("waiting"), 30, what="what the plugin measures")
    assert (waiting["value"], checked(ward.serve, monitor, "up")["output"]) == (0, "OK - it works")
    ward.api.post("/api/healing/rules", RULE)
    promote(ward.api, RULE["id"])
    first = heal(ward, monitor)
    ward.host.exec("systemctl", "restart", "opsapp-agent")
    connected(ward)
    second = heal(ward, monitor, first)
    assert ward.serve.stop() == 0
    ward.serve.start()
    connected(ward)
    heal(ward, monitor, second)
    until(lambda: ward.api.get("/api/monitoring/incidents?status=open") == [], 30, what="the end of the last incident")
    incidents = ward.api.get("/api/monitoring/incidents?status=all")
    assert [(incident["cause"], incident["status"]) for incident in incidents] == [
        ("CRITICAL - nobody works", "resolved")
    ] * 3
    assert ward.api.get("/api/healing/ledger/verify")["valid"] is True


def asleep(ward, seconds=LONG):
    return set(ward.host.exec("pgrep", "-fx", f"(/usr/bin/)?sleep {seconds}", check=False).stdout.split())


@pytest.mark.nightly("tests/unit/test_agent_plugins.py has a plugin that hangs")
def test_a_plugin_that_hangs_leaves_nothing(ward):
    """Whatever it has forked, and whatever session that is in by then; nor does it when the agent is killed."""
    monitor = add(ward, "hanging", HANGING, interval=10, timeout=5)
    first = until(lambda: len(asleep(ward)) == 3 and asleep(ward), 30, what="the plugin and its children")
    assert checked(ward.serve, monitor, "down")["cause"] == "no answer within 5 s"
    until(lambda: first.isdisjoint(asleep(ward)), 20, what="the end of all that came from the plugin")
    second = until(lambda: len(asleep(ward)) == 3 and asleep(ward), 30, what="the next check")
    ward.host.exec("systemctl", "kill", "--kill-who=main", "--signal=KILL", "opsapp-agent")
    until(lambda: second.isdisjoint(asleep(ward)), 20, what="the end of what the killed agent has left")


@pytest.mark.nightly("tests/unit/test_agent_processes.py has children of a command")
def test_a_command_whose_time_is_over_ends_its_children_and_no_unit(ward):
    script = f"systemd-run --unit=kept sleep {UNIT}; (setsid sleep {LONG} &) ; sleep {LONG}"
    asked = {"type": "shell", "params": {"command": script, "timeout": 3}}
    command_id = ward.api.post(f"/api/agents/{ward.agent_id}/commands", asked)["command_id"]

    def ended():
        commands = ward.api.get(f"/api/agents/{ward.agent_id}/commands")
        return next((one for one in commands if one["command_id"] == command_id and one["finished_at"]), None)

    until(lambda: len(asleep(ward)) == 2, 30, what="the command and its child")
    assert until(ended, 30, what="the end of the command")["status"] == "timeout"
    assert asleep(ward) == set()
    assert ward.host.exec("systemctl", "is-active", "kept").stdout == "active\n"
    assert len(asleep(ward, UNIT)) == 1
