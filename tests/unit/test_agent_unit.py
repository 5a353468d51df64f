"""The unit of the agent's package against the table of actions: what an action needs is not taken, the rest is.
tests/fleet tries the actions under the same rules (`care.TAKEN`)."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from opsapp.wire.actions import ACTIONS

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "distribution/debian/opsapp-agent/root/usr/lib/systemd/system/opsapp-agent.service"
MOST = 9.0  # of 10; what the actions need is the rest
MOUNTS = ("container_recreate", "restart_container", "compose_restart", "snapshot_rollback", "agent_command")
PACKAGES = ("package_security_patch", "agent_command", "run")
# An option that may not be there, and the actions that would fail under it.
NEEDED = {
    # a name space of mounts of its own: what a container or a file system mounts would be seen by the agent only
    **dict.fromkeys(
        ("PrivateTmp", "PrivateMounts", "ProtectHome", "ProtectKernelLogs", "ProtectProc", "ReadOnlyPaths"), MOUNTS
    ),
    "ProtectSystem": (*PACKAGES, "failover_dns", "disk_cleanup", "fsck_schedule"),
    "ProtectHostname": MOUNTS,
    "ProtectControlGroups": ("scale_container", "restart_container"),
    "ProtectKernelTunables": ("clear_cache", "memory_pressure_relief"),
    "ProtectKernelModules": ("vpn_reconnect", "package_security_patch", "firewall_rule_add"),
    "ProtectClock": ("raid_rebuild", "btrfs_scrub", "fsck_schedule"),  # it closes all devices but the clock's
    "PrivateDevices": ("raid_rebuild", "btrfs_scrub", "fsck_schedule"),
    "DevicePolicy": ("raid_rebuild", "btrfs_scrub", "fsck_schedule"),
    "PrivateNetwork": ("network_interface_restart", "vpn_reconnect", "firewall_rule_add"),
    "PrivateUsers": ("process_kill", "nice_adjust"),
    "RestrictNamespaces": ("container_recreate", "restart_container"),
    # these go on to what the action starts: programs of packages, and what runs in a container
    "NoNewPrivileges": (*PACKAGES, "restart_container"),
    "RestrictSUIDSGID": (*PACKAGES, "trigger_backup", "container_image_pull"),
    "MemoryDenyWriteExecute": (*PACKAGES, "restart_container"),
    "SystemCallArchitectures": ("restart_container", "agent_command"),
    "User": ("restart_service", "process_kill"),
}
ADDRESSES = ("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_ALG", "AF_VSOCK", "AF_KEY", "AF_BRIDGE")
GROUPS = ("@clock", "@debug", "@module", "@mount", "@privileged", "@reboot", "@resources", "@swap", "@setuid", "@chown")
CAPABILITIES = ("CAP_SYS_ADMIN", "CAP_NET_ADMIN", "CAP_KILL", "CAP_SYS_NICE", "CAP_DAC_OVERRIDE", "CAP_MAC_ADMIN")


def options():
    return [line.partition("=")[::2] for line in UNIT.read_text().splitlines() if re.match(r"[A-Za-z]+=", line)]


def test_nothing_is_taken_that_an_action_needs():
    named = {action for actions in NEEDED.values() for action in actions}
    assert named <= ACTIONS.keys()
    assert {name for name, _ in options()} & NEEDED.keys() == set()


def taken(option):
    """The words of its lists, each of which must say what is taken and not what is left."""
    lists = [value for name, value in options() if name == option]
    assert lists
    assert all(value.startswith("~") for value in lists), lists
    return {word for value in lists for word in value[1:].split()}


def test_lists_take_what_no_action_uses():
    assert taken("RestrictAddressFamilies") & set(ADDRESSES) == set()
    assert taken("SystemCallFilter") & set(GROUPS) == set()
    assert taken("CapabilityBoundingSet") & set(CAPABILITIES) == set()
    assert ("SystemCallErrorNumber", "EPERM") in options()  # a program is told, and not killed


def test_what_costs_nothing_is_taken():
    wanted = {("LockPersonality", "yes"), ("RestrictRealtime", "yes"), ("KeyringMode", "private"), ("UMask", "0077")}
    assert wanted <= set(options())


def test_the_install_script_takes_the_same():
    script = (ROOT / "opsapp/agents/install.sh").read_text()
    begin = "LockPersonality=yes\n"
    rules = begin + UNIT.read_text().partition(begin)[2].partition("\n\n")[0]
    assert rules in script


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze")
def test_systemd_knows_each_line_and_sees_the_difference():
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(UNIT)]
    judged = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "unrecognized option" in judged.stderr:
        pytest.skip("a systemd older than 250 cannot judge a file")
    assert not re.search(r"Unknown|Failed to parse|ignoring", judged.stderr), judged.stderr
    assert float(re.search(r"Overall exposure level for \S+: (\d+\.\d+)", judged.stdout)[1]) <= MOST
