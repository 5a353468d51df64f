"""The units of the guide under a real systemd: opsapp runs as one user and its scripts as another; it stops in time."""

import re

import pytest

from tests.fleet.installed import MARK, UNITS, Installed
from tests.support import automations
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(900)
MOST_OPEN = 3.0
KEPT = ("/var/lib/opsapp/secret.key", "/var/lib/opsapp/main.fs", "/etc/opsapp/opsapp.yaml")
RELOADED = """healing:
  rules: [{id: from-the-yaml, condition: disk_percent > 99, action: {type: log_rotate, params: {}}}]
"""
PEEK = """id -un
echo "HOME is $HOME"
for file in KEPT; do cat "$file" && echo "read $file"; done
for file in /etc/written /opt/opsapp/written /var/lib/opsapp/written; do (echo x > "$file") && echo "wrote $file"; done
ls /proc/$(systemctl show --value -p MainPID opsapp)/environ && echo "sees the service"
true
""".replace("KEPT", " ".join(KEPT))


@pytest.fixture(scope="module")
def service(lab, tmp_path_factory):
    host = lab.host()
    try:
        yield Installed(host, tmp_path_factory.mktemp("wheel"))
    finally:
        lab.remove(host)


def output(service, text):
    run = automations.ended(service, automations.run(service, automations.script(service, text)), 60)
    assert run["status"] == "done", (run, service.log())
    return run["output"]


def test_the_service_runs_as_its_own_user_and_is_whole(service):
    assert service.admin.get("/api/me")["username"] == "admin"
    pid = service.show("opsapp", "MainPID")
    assert service.host.exec("ps", "-o", "user=", "-p", pid).stdout.strip() == "opsapp"
    doctor = service.host.exec(
        "runuser",
        "-u",
        "opsapp",
        "--",
        "/opt/opsapp/bin/opsapp",
        "doctor",
        "--ini",
        "/etc/opsapp/opsapp.ini",
        "--url",
        "http://127.0.0.1:6080",
        check=False,
        timeout=120,
    )
    assert doctor.returncode == 0, doctor.stdout


def test_systemd_understands_every_line_of_the_units(service):
    names = [f"/etc/systemd/system/{path.name}" for path in UNITS.iterdir()]
    verified = service.host.exec("systemd-analyze", "verify", *names, check=False, timeout=60)
    assert (verified.returncode, verified.stdout) == (0, "")


def test_it_watches_from_inside_its_unit(service):
    monitor = service.admin.post(
        "/api/monitoring/endpoints",
        {"name": "nginx", "type": "http", "url": "http://127.0.0.1/health", "interval": 5, "timeout": 4},
    )["id"]
    until(lambda: service.admin.get(f"/api/monitoring/endpoints/{monitor}")["status"] == "up", 60, what="an answer")


def test_a_script_runs_as_the_other_user_and_reads_nothing_of_the_service(service):
    said = output(service, PEEK)
    assert said.splitlines()[0] == "opsapp-run"
    assert [line for line in said.splitlines() if line.startswith(("read ", "wrote ", "sees "))] == []
    assert MARK not in said
    for path in KEPT:
        assert service.host.exec("test", "-s", path).returncode == 0


@pytest.mark.parametrize("unit", ["opsapp.service", "opsapp-executor@.service"])
def test_the_units_leave_little_open(service, unit):
    assert output(service, "id -un") == "opsapp-run\n"  # so an executor of the other unit runs
    name = unit if "@" not in unit else _executors(service)[0]
    said = service.host.exec("systemd-analyze", "security", "--no-pager", name, timeout=60).stdout
    assert float(re.search(r"Overall exposure level for \S+: (\d+\.\d+)", said)[1]) <= MOST_OPEN


def _executors(service):
    listed = service.host.exec(
        "systemctl", "list-units", "--plain", "--no-legend", "--state=active", "opsapp-executor@*"
    ).stdout
    return [line.split()[0] for line in listed.splitlines()]


def test_the_yaml_is_read_again_and_a_dead_service_comes_back(service):
    service.configure(RELOADED)
    service.host.exec("systemctl", "reload", "opsapp")
    until(lambda: "from-the-yaml" in str(service.admin.get("/api/healing/rules")), 30, what="the rule")
    pid = service.show("opsapp", "MainPID")
    service.host.exec("kill", "-KILL", pid)
    until(lambda: service.show("opsapp", "MainPID") not in ("0", pid), 60, what="systemd starting it again")
    assert output(service.until_ready(), "id -un") == "opsapp-run\n"


def test_it_stops_in_time_and_its_scripts_with_it(service):
    automations.run(service, automations.script(service, "echo begun; sleep 7777"))
    until(lambda: service.host.exec("pgrep", "-fx", "sleep 7777", check=False).returncode == 0, 60, what="the script")
    service.host.exec("systemctl", "stop", "opsapp", timeout=60)
    assert service.show("opsapp", "Result") == "success", "systemd had to end it after TimeoutStopSec"
    assert service.show("opsapp", "ExecMainStatus") == "0"
    until(lambda: _executors(service) == [], 20, what="the end of the executor")
    assert service.host.exec("pgrep", "-fx", "sleep 7777", check=False).returncode == 1
    service.host.exec("systemctl", "start", "opsapp")
    assert output(service.until_ready(), "id -un") == "opsapp-run\n"
