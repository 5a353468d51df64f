"""The lab itself: what the other tests of this suite take for granted."""

import http.client
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.lab import Lab, machine
from tests.fleet.lab.lab import SLOTS
from tests.support.waiting import patience, until


@pytest.fixture(scope="module")
def host(lab):
    """One for all: each test leaves it as it was."""
    host = lab.host()
    yield host
    lab.remove(host)


def health(host, timeout=None):
    link = http.client.HTTPConnection(host.address, 80, timeout=timeout or 10 * patience())
    try:
        link.request("GET", "/health")
        return link.getresponse().read()
    finally:
        link.close()


def test_a_host_has_systemd_nginx_and_an_address_of_its_own(host):
    assert health(host) == b"ok\n"
    assert host.exec("systemctl", "is-active", "nginx", "ssh", "cron").stdout.split() == ["active"] * 3
    host.exec("systemctl", "stop", "nginx")
    try:
        with pytest.raises(ConnectionRefusedError):
            health(host)
    finally:
        host.exec("systemctl", "start", "nginx")


def test_a_host_has_variables_of_its_own(host, monkeypatch):
    """Those of the machine may name what no host has, as a directory for temporary files."""
    monkeypatch.setenv("TMPDIR", "/only/on/the/machine")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    names = {line.partition("=")[0] for line in host.exec("env").stdout.splitlines()}
    assert names == {"HOME", "LANG", "PATH", "TERM"}


def test_a_cut_host_is_silent_and_comes_back(host):
    host.cut()
    try:
        with pytest.raises(TimeoutError):
            health(host, timeout=1)
        assert host.exec("curl", "-s", "http://localhost/health").stdout == "ok\n"
    finally:
        host.mend()
    assert health(host) == b"ok\n"


def test_power_loss_keeps_the_disk_and_nothing_else(host):
    host.exec("sh", "-c", "echo kept > /root/kept; echo gone > /run/gone; sync")
    host.kill()
    assert not host.running
    host.start()
    assert host.exec("sh", "-c", "cat /root/kept; ls /run/gone", check=False).stdout.startswith("kept\nls: cannot")


def test_a_full_disk_and_a_hungry_process_hurt_nobody_else(host):
    full = host.exec("dd", "if=/dev/zero", "of=/root/big", "bs=1M", "count=2000", check=False)
    assert "No space left" in full.stdout
    host.exec("rm", "/root/big")
    hungry = host.exec("python3", "-c", "x = bytearray(2 << 30)", check=False)
    assert hungry.returncode != 0
    assert host.running


def test_a_host_has_a_share_of_the_processors_of_its_own(host):
    """So has the lab as a whole: a share counts only among the groups beside it."""
    groups = {*host.groups, *(group.parent for group in host.groups)}
    knobs = [group / name for group in groups for name in machine.PROCESSOR_SHARE if (group / name).exists()]
    assert len(knobs) >= 2
    assert all(knob.read_text().strip() == machine.PROCESSOR_SHARE[knob.name] for knob in knobs)


def test_a_service_of_the_lab_has_such_a_share(lab, tmp_path):
    """For hosts wait for it."""
    group = f"{lab.bridge.name}/service"
    inside = subprocess.run([*lab.serve(tmp_path).inside, "cat", "/proc/self/cgroup"], capture_output=True, text=True)
    assert f"/{group}\n" in inside.stdout, inside
    places = [top / group / name for top in machine.hierarchies() for name in machine.PROCESSOR_SHARE]
    knobs = [place for place in places if place.exists()]
    assert knobs
    assert all(knob.read_text().strip() == machine.PROCESSOR_SHARE[knob.name] for knob in knobs)


def test_ssh_reaches_the_host(host):
    command = ["ssh", "-i", host.lab.ssh_key, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]
    command += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", f"ops@{host.address}", "sudo -n id -un"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=20 * patience()).stdout == "root\n"


SLOT = SLOTS - 1  # labs of other tests begin with the first, so nobody else sweeps this one
KILLED = """
import os, signal
from tests.fleet.lab import Lab
lab = Lab(slots=[SLOT])
host = lab.host()
print(lab.bridge.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
SWEPT = """
from tests.fleet.lab import Lab
lab = Lab(slots=[SLOT])
print(lab.bridge.name)
lab.close()
"""


def test_a_bridge_of_another_cache_is_left_alone(lab, monkeypatch, tmp_path):
    """Two checkouts may keep their files in different places; the network of the machine is the same."""
    monkeypatch.setattr("tests.fleet.lab.lab.CACHE", tmp_path)
    monkeypatch.setattr("tests.fleet.lab.rootfs.layers", lambda: lab.layers)
    with pytest.raises(machine.Unavailable, match="every slot"):
        Lab(slots=[lab.slot])
    assert (Path("/sys/class/net") / lab.bridge.name).exists()


def test_the_end_of_a_process_that_has_ended_is_not_waited_for():
    """A group may still list it, and nobody may have asked for its exit code."""
    ended = subprocess.Popen(["true"])
    until(lambda: machine.born(ended.pid) is None, what="its end")
    assert machine.end(ended.pid, machine.born(ended.pid), timeout=0)
    assert ended.wait() == 0


def left(bridge):
    """What of a lab is still there."""
    links = [link.name for link in Path("/sys/class/net").iterdir() if link.name.startswith(bridge)]
    groups = [str(top / bridge) for top in machine.hierarchies() if (top / bridge).exists()]
    slot = machine.CACHE / bridge.replace("oplab", "slot-")
    return links + groups + machine.mounts(slot) + ([str(slot)] if slot.exists() else [])


def said(program):
    """The last word of a lab in a process of its own; an empty one when it could not have its slot."""
    command = [sys.executable, "-c", program.replace("SLOT", str(SLOT))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60 * patience())
    return done.stdout.strip().rpartition("\n")[2]


def test_a_killed_lab_is_swept_by_the_next_in_its_slot(lab):
    bridge = said(KILLED)
    assert left(bridge)
    until(lambda: said(SWEPT) == bridge, 30, what="a lab in the slot of the killed one")
    assert left(bridge) == []
