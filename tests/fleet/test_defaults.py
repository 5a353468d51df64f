"""With the settings that opsapp comes with, on server and agent: no wait is shortened, and the brake is on."""

import pytest

from tests.fleet.care import DEFAULT, SERVICE, Ward
from tests.fleet.healed import promote
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def ward(lab, tmp_path_factory):
    host = lab.host()
    try:
        with lab.serve(tmp_path_factory.mktemp("server")) as serve:
            yield Ward(host, serve, **DEFAULT)
    finally:
        lab.remove(host)


def test_a_stopped_service_is_started_again(ward):
    host = ward.host
    until(lambda: ward.metrics()["services"].get("nginx") == "active", 60, what="nginx in a report")
    promote(ward.api, "default-service")
    host.exec("systemctl", "stop", "nginx")
    heal = ward.ended("default-service", f"{host.name}/nginx", "verified", 60)
    assert (heal["action_type"], heal["trust_level"]) == ("restart_service", "execute")
    assert host.exec("systemctl", "is-active", "nginx").stdout == "active\n"


@pytest.mark.nightly("minutes of the default waits")
def test_a_crash_loop_is_told(ward):
    host = ward.host
    more = "Restart=always\nRestartSec=1"
    host.write("/etc/systemd/system/looper.service", SERVICE.format(start="/bin/false", more=more))
    host.exec("systemctl", "daemon-reload")
    host.exec("systemctl", "start", "looper")
    before = ward.commands()
    ward.ended("default-crash-loop", f"{host.name}/looper", "notified", 60)
    assert ward.commands() == before
    host.exec("systemctl", "stop", "looper")


@pytest.mark.nightly("minutes of the default waits")
def test_a_host_that_needs_a_reboot_is_rebooted_once_somebody_has_approved_it(ward):
    """As far as a container can: the lab starts it again as a machine's firmware would."""
    host = ward.host
    boot = host.exec("cat", "/proc/1/stat").stdout.rpartition(")")[2].split()[19]
    rule = ward.api.post(
        "/api/healing/rules",
        {"condition": "reboot_required == 1", "initial_level": "notify", "action": {"type": "host_reboot"}},
    )["id"]
    promote(ward.api, rule)
    host.exec("touch", "/run/reboot-required")
    (asked,) = until(lambda: ward.api.get("/api/approvals"), 90, what="a request for the reboot")
    assert (asked["risk"], asked["status"]) == ("high", "pending")
    ward.api.post(f"/api/approvals/{asked['request_id']}/approve", {})
    until(lambda: host.nspawn.poll() is not None, 120, what="the reboot")
    host.kill()
    host.start()
    heal = ward.ended(rule, host.name, "verified", 300)
    assert heal["action_type"] == "host_reboot"
    assert host.exec("cat", "/proc/1/stat").stdout.rpartition(")")[2].split()[19] != boot
    assert (
        len(
            [
                one
                for one in ward.commands()
                if one["params"]["phase"] == "execute" and one["params"]["action_type"] == "host_reboot"
            ]
        )
        == 1
    )
