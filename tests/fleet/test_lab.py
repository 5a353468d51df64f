"""The lab itself: what the other tests of this suite take for granted."""

import http.client
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fleet.lab import machine
from tests.support.waiting import until


def health(host):
    link = http.client.HTTPConnection(host.address, 80, timeout=1)
    try:
        link.request("GET", "/health")
        return link.getresponse().read()
    finally:
        link.close()


def test_a_host_has_systemd_nginx_and_an_address_of_its_own(host):
    assert health(host) == b"ok\n"
    assert host.exec("systemctl", "is-active", "nginx", "ssh", "cron").stdout.split() == ["active"] * 3
    host.exec("systemctl", "stop", "nginx")
    with pytest.raises(ConnectionRefusedError):
        health(host)


def test_a_cut_host_is_silent_and_comes_back(host):
    host.cut()
    with pytest.raises(TimeoutError):
        health(host)
    assert host.exec("curl", "-s", "http://localhost/health").stdout == "ok\n"
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
    hungry = host.exec("python3", "-c", "x = bytearray(2 << 30)", check=False)
    assert hungry.returncode != 0
    assert host.running


def test_a_host_has_a_share_of_the_processors_of_its_own(host):
    """So has the lab as a whole: a share counts only among the groups beside it."""
    groups = {*host.groups, *(group.parent for group in host.groups)}
    knobs = [group / name for group in groups for name in machine.PROCESSOR_SHARE if (group / name).exists()]
    assert len(knobs) >= 2
    assert all(knob.read_text().strip() == machine.PROCESSOR_SHARE[knob.name] for knob in knobs)


def test_ssh_reaches_the_host(host):
    command = ["ssh", "-i", host.lab.ssh_key, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]
    command += ["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", f"ops@{host.address}", "sudo -n id -un"]
    assert subprocess.run(command, capture_output=True, text=True, timeout=20).stdout == "root\n"


KILLED = """
import os, signal
from tests.fleet.lab import Lab
lab = Lab()
host = lab.host()
print(lab.bridge.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
SWEPT = """
from tests.fleet.lab import Lab
lab = Lab()
print(lab.bridge.name)
lab.close()
"""


def left(bridge):
    """What of a lab is still there."""
    links = [link.name for link in Path("/sys/class/net").iterdir() if link.name.startswith(bridge)]
    groups = [str(top / bridge) for top in machine.hierarchies() if (top / bridge).exists()]
    slot = machine.CACHE / bridge.replace("oplab", "slot-")
    return links + groups + machine.mounts(slot) + ([str(slot)] if slot.exists() else [])


def test_a_killed_lab_is_swept_by_the_next_in_its_slot(lab):
    killed = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, timeout=60)
    bridge = killed.stdout.split()[-1]
    assert left(bridge)
    until(lambda: subprocess.run([sys.executable, "-c", SWEPT], stdout=subprocess.PIPE, text=True).stdout.split()[-1:]
          == [bridge], 30, what="a lab in the slot of the killed one")  # fmt: skip
    assert left(bridge) == []
