"""Faults that only real hosts have, told by the default rules: a crash loop, a removed container, a hung manager."""

import os
import signal

import pytest

from tests.fleet.care import SERVICE, Ward, make_container
from tests.support.waiting import until

LOOP = "Restart=always\nRestartSec=0.3"


@pytest.fixture
def ward(host, server):
    return Ward(host, server())


def notices(ward, rule, target):
    return [entry for entry in ward.ledger(rule, target) if entry["outcome"] == "notified"]


def test_a_crash_loop_is_noticed_and_told(ward):
    """systemd never calls it failed: between two starts it is activating."""
    host = ward.host
    host.write("/etc/systemd/system/looper.service", SERVICE.format(start="/bin/sh -c 'sleep 0.2; exit 1'", more=LOOP))
    host.exec("systemctl", "daemon-reload")
    host.exec("systemctl", "enable", "--now", "looper")
    until(lambda: notices(ward, "default-crash-loop", f"{host.name}/looper"), 60, what="a notice of the crash loop")
    assert host.exec("systemctl", "is-failed", "looper", check=False).stdout.strip() in ("activating", "active")
    assert ward.metrics()["starts"]["looper"] >= 5
    assert not notices(ward, "default-service", f"{host.name}/looper")
    assert set(ward.metrics()["starts"]) == {"looper"}
    assert ward.commands() == []


@pytest.mark.nightly("the core list has a crash loop")
def test_a_container_that_was_removed_is_told_also_after_a_restart_of_the_agent(ward):
    host = ward.host
    make_container(host, "web")
    until(lambda: ward.metrics()["containers"].get("web") == "running", 60, what="the container in a report")
    make_container(host, "job", "--rm")
    until(lambda: ward.metrics()["containers"].get("job") == "running", 60, what="the job in a report")
    host.exec("podman", "rm", "--force", "--time", "0", "web", "job", timeout=60)
    until(lambda: "web" not in ward.metrics()["containers"], 60, what="the container being gone")
    host.exec("systemctl", "restart", "opsapp-agent")
    until(lambda: notices(ward, "default-container", f"{host.name}/web"), 90, what="a notice of the removed container")
    assert ward.metrics()["containers"] == {"web": "removed"}


@pytest.mark.nightly("the core list has a crash loop")
def test_a_service_manager_that_hangs_is_told_while_everything_else_is_reported(ward):
    host = ward.host
    ward.api.put("/api/healing/rules/default-service-manager", {"condition": "service_manager.hung_s >= 8"})
    until(lambda: ward.metrics()["services"], 30, what="the services in a report")
    os.kill(host.leader, signal.SIGSTOP)
    try:
        until(lambda: notices(ward, "default-service-manager", host.name), 90, what="a notice of the hanging manager")
        seen = ward.api.get(f"/api/agents/{ward.agent_id}")
        assert (seen["status"], seen["metrics"]["services"]) == ("online", {})
        uptime = ward.metrics()["uptime_s"]
        until(lambda: ward.metrics()["uptime_s"] > uptime + 3, 30, what="further reports")
        assert not notices(ward, "default-service", f"{host.name}/nginx")
    finally:
        os.kill(host.leader, signal.SIGCONT)
    until(lambda: ward.metrics()["services"].get("nginx") == "active", 60, what="the services in a report again")
    assert ward.metrics()["metrics"]["service_manager.hung_s"] == 0
