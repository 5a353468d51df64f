"""What the agent sees of hosts that no test machine is: other init systems, disks, temperatures, accounts."""

import os
import types

import pytest

from opsapp.agent import commands, firewall, metrics, proc, services, snapshots, vpn
from opsapp.agent.services import Services
from opsapp.wire.actionparams import FirewallRule
from opsapp.wire.fields import dumps
from tests.support.fake_tools import Bench, Known


# ---- service managers
@pytest.mark.parametrize(
    ("there", "comm", "init"),
    [
        ({"/run/systemd/system"}, "systemd", "systemd"),
        ({"/run/openrc/softlevel"}, "init", "openrc"),
        ({"/run/runit"}, "runit", "runit"),
        (set(), "runit-init", "runit"),
        ({"/etc/init.d"}, "init", "sysvinit"),
        ({"/etc/init.d"}, "bash", "none"),
    ],
)
def test_which_init_system_runs(there, comm, init, monkeypatch):
    monkeypatch.setattr(proc, "maybe", lambda path: f"{comm}\n" if path == "/proc/1/comm" else None)
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "isdir", lambda path: path in there)
        patch.setattr(os.path, "exists", lambda path: path in there)
        assert services.init_system() == init


def seen(tmp_path, monkeypatch, init, tools):
    bench = Bench(tmp_path, monkeypatch, tools)
    monkeypatch.setattr(services, "init_system", lambda: init)
    return Services(str(tmp_path), "boot-1"), bench


RC = "printf 'Runlevel: default\\n sshd [ started ]\\n web [ stopped ]\\nRunlevel: single\\n old [ stopped ]\\n'"


def test_the_services_of_openrc(tmp_path, monkeypatch):
    found, _ = seen(tmp_path, monkeypatch, "openrc", {"rc-status": RC})
    assert found.states() == {"sshd": "active", "web": "failed"}


def test_a_question_that_fails_is_no_state(tmp_path, monkeypatch):
    found, _ = seen(tmp_path, monkeypatch, "openrc", {"rc-status": "exit 1"})
    with pytest.raises(OSError, match="rc-status"):
        found.states()
    with pytest.raises(services.NoManager):
        seen(tmp_path / "bin", monkeypatch, "none", {})[0].states()


def test_the_services_of_runit(tmp_path, monkeypatch):
    base = tmp_path / "service"
    for name, said in {"sshd": "run\n", "web": "down, want up\n", "mail": "finish", "odd": "?"}.items():
        (base / name / "supervise").mkdir(parents=True)
        (base / name / "supervise" / "stat").write_text(said)
    found, _ = seen(tmp_path, monkeypatch, "runit", {})
    isdir, listdir = os.path.isdir, os.listdir
    maybe = services.maybe
    with monkeypatch.context() as patch:
        patch.setattr(
            os.path,
            "isdir",
            lambda path: (
                path == "/etc/service"
                or (path not in ("/run/runit/runsvdir/current", "/var/service", "/service") and isdir(path))
            ),
        )
        patch.setattr(os, "listdir", lambda path=".": listdir(base if path == "/etc/service" else path))
        patch.setattr(services, "maybe", lambda path: maybe(path.replace("/etc/service", str(base))))
        assert found.states() == {"mail": "deactivating", "odd": "unknown", "sshd": "active", "web": "failed"}


SHOW = """case "$*" in
*--all*) printf 'Id=web.service\\nLoadState=loaded\\nActiveState=active\\nUnitFileState=enabled\\nType=simple\\n';;
*once.service*)
  printf 'Id=once.service\\nLoadState=loaded\\nActiveState=inactive\\nUnitFileState=disabled\\nType=simple\\n';;
esac"""


def test_a_unit_that_systemd_has_forgotten_is_asked_for_by_its_name(tmp_path, monkeypatch):
    found, bench = seen(tmp_path, monkeypatch, "systemd", {"systemctl": SHOW})
    found.judge([{"Id": "once.service", "LoadState": "loaded", "ActiveState": "active", "UnitFileState": "disabled"}])
    assert found.states() == {"web": "active", "once": "failed"}
    assert bench.calls()[-1][-2:] == ["--", "once.service"]
    found.forget("once.service")
    assert found.states() == {"web": "active"}


def test_a_systemd_that_does_not_answer_is_no_answer(tmp_path, monkeypatch):
    found, _ = seen(tmp_path, monkeypatch, "systemd", {"systemctl": "echo Failed to connect to bus; exit 1"})
    with pytest.raises(OSError, match="Failed to connect to bus"):
        found.states()


def test_what_was_remembered_wrongly_is_forgotten(tmp_path, monkeypatch):
    (tmp_path / "units.json").write_text('{"active": 7}')
    found, _ = seen(tmp_path, monkeypatch, "systemd", {})
    gone = {"Id": "x.service", "LoadState": "loaded", "ActiveState": "inactive", "UnitFileState": "disabled"}
    assert found.judge([gone]) == {}


@pytest.mark.parametrize(
    ("tools", "action", "argv"),
    [
        ({"systemctl", "service"}, "restart", ["systemctl", "--no-pager", "restart", "--", "web"]),
        ({"rc-service", "rc-update"}, "restart", ["rc-service", "web", "restart"]),
        ({"rc-service", "rc-update"}, "enable", ["rc-update", "add", "web"]),
        ({"rc-update"}, "disable", ["rc-update", "del", "web"]),
        ({"update-rc.d", "service"}, "enable", ["update-rc.d", "web", "enable"]),
        ({"sv"}, "stop", ["sv", "stop", "web"]),
        ({"sv"}, "enable", []),
        ({"service"}, "status", ["service", "web", "status"]),
        (set(), "status", []),
    ],
)
def test_how_each_service_manager_is_told(tools, action, argv):
    assert commands.service_argv(Known(tools), "web", action) == argv


def task(**params):
    return types.SimpleNamespace(params=types.SimpleNamespace(**params))


def test_what_no_tool_of_this_host_can_do_is_said():
    for answer in (
        commands.service(task(service="web", action="restart"), Known(())),
        commands.logs(task(source="journald", unit="web", lines=5), Known(()), None),
    ):
        assert answer.ran.status == "failed"
        assert answer.ran.reason.startswith("no_capable_handler: ")


def test_an_account_without_a_name_is_its_number(monkeypatch):
    def nobody(_number):
        raise KeyError

    assert commands._user(2**30) == ""  # the process is gone
    monkeypatch.setattr(commands.pwd, "getpwuid", nobody)
    assert commands._user(os.getpid()) == str(os.geteuid())


# ---- measures
def test_temperatures_by_kind(monkeypatch):
    files = {
        "/sys/class/thermal/thermal_zone0/temp": "45250\n",
        "/sys/class/thermal/thermal_zone0/type": "x86_pkg\n",
        "/sys/class/thermal/thermal_zone1/temp": "-3000\n",
        "/sys/class/thermal/thermal_zone1/type": "x86_pkg\n",
        "/sys/class/thermal/thermal_zone2/temp": "none\n",
    }
    with monkeypatch.context() as patch:
        patch.setattr(metrics, "maybe", files.get)
        patch.setattr(os.path, "isdir", lambda path: True)
        patch.setattr(os, "listdir", lambda path: [*(f"thermal_zone{n}" for n in range(3)), "cooling_device0"])
        assert metrics._temperatures() == {"x86_pkg": 45.2, "x86_pkg-1": -3.0}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("MemTotal: 1000 kB\nMemAvailable: 250 kB\nSwapTotal: 0 kB\n", (75.0, 0.0)),
        ("MemTotal: 1000 kB\nMemFree: 100 kB\nSwapTotal: 100 kB\nSwapFree: 75 kB\n", (90.0, 25.0)),
        ("MemTotal: 1000 kB\nMemFree: 100 kB\n", (90.0, None)),
        ("", (None, None)),
    ],
)
def test_what_memory_is_left_is_measured_or_unknown(text, found, monkeypatch):
    monkeypatch.setattr(proc, "maybe", lambda path: text)
    assert metrics._memory() == found


def test_a_machine_that_tells_nothing_of_itself(monkeypatch):
    def refused():
        raise OSError

    monkeypatch.setattr(metrics, "maybe", lambda path: "uninitialized\n" if path == "/etc/machine-id" else None)
    monkeypatch.setattr(os, "getloadavg", refused)
    assert (metrics.machine_id(), metrics._uptime(), metrics._load()) == ("", None, (None, None, None))


# ---- tunnels
def test_tunnels_without_the_program_that_lists_them(tmp_path, monkeypatch):
    for name, files in {
        "wg0": {"uevent": "DEVTYPE=wireguard\n"},
        "tun0": {"tun_flags": "0x1001\n"},
        "tap0": {"tun_flags": "0x1002\n"},
        "eth0": {"uevent": "INTERFACE=eth0\n"},
    }.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    monkeypatch.setattr(vpn, "NET", str(tmp_path))
    monkeypatch.setattr(vpn, "names", lambda: {"wg0", "tun0", "tap0", "eth0"})
    monkeypatch.setattr(vpn, "ask", lambda argv, seconds: (-1, ""))
    assert vpn.present() == {"wg0", "tun0"}
    assert vpn.tunnels("not json") == set()


def test_a_tunnel_that_is_up_with_nobody_behind_it_is_down(monkeypatch):
    peer = "pub\t(none)\t192.0.2.1:51820\t10.0.0.0/8\t{at}\t1\t1\t25"
    monkeypatch.setattr(vpn, "flags", lambda name: 0x41)
    monkeypatch.setattr(os.path, "exists", lambda path: path == "/etc/wireguard/wg0.conf")
    for at, is_up in ((vpn.time.time() - 10, True), (vpn.time.time() - 1000, False)):
        monkeypatch.setattr(vpn, "ask", lambda argv, seconds, at=at: (0, "own\n" + peer.format(at=int(at))))
        assert vpn.up("wg0") is is_up
    monkeypatch.setattr(vpn, "ask", lambda argv, seconds: (-1, "no wg here"))
    assert vpn.up("wg0") is True
    assert vpn.up("tun0") is True


# ---- snapshots
def test_the_oldest_snapshots_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "KEEP_MOST", 2)
    kept = snapshots.Snapshots(str(tmp_path))
    for number in range(4):
        kept.save(f"h{number}", snapshots.snapshot_of({"kind": "host"}))
        os.utime(tmp_path / f"snapshots/s-h{number}.json", (number, number))
    kept.save("h4", snapshots.snapshot_of({"kind": "host"}))
    assert [kept.load(f"h{number}") is not None for number in range(5)] == [False, False, False, True, True]


def test_a_snapshot_that_was_damaged_is_no_state_to_go_back_to(tmp_path):
    kept = snapshots.Snapshots(str(tmp_path))
    (tmp_path / "snapshots/s-h1.json").write_bytes(dumps({"kind": "host"})[:-3])
    with pytest.raises(snapshots.Unknown, match="cannot be read"):
        kept.load("h1")


def test_disks_that_cannot_be_told_apart_are_no_state(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"df": "exit 2"})
    taken = bench.phase("snapshot", "disk_cleanup")
    assert taken.data["snapshot"] is None
    assert taken.ran.reason.startswith("df: ")


# ---- firewalls
def rule(**more):
    return {
        "direction": "in",
        "action": "drop",
        "protocol": "any",
        "port": None,
        "source": None,
        "destination": None,
        **more,
    }


@pytest.mark.parametrize(
    ("said", "nft", "rich"),
    [
        (rule(protocol="icmp"), "meta l4proto { icmp, ipv6-icmp } counter drop", 'rule protocol value="icmp" drop'),
        (rule(protocol="tcp", action="accept"), "meta l4proto tcp counter accept", 'rule protocol value="tcp" accept'),
        (
            rule(source="2001:db8::/32", protocol="udp", port=53),
            "ip6 saddr 2001:db8::/32 udp dport 53 counter drop",
            'rule family="ipv6" source address="2001:db8::/32" port port="53" protocol="udp" drop',
        ),
        (
            rule(source="192.0.2.1", destination="192.0.2.2"),
            "ip saddr 192.0.2.1 ip daddr 192.0.2.2 counter drop",
            'rule family="ipv4" source address="192.0.2.1" destination address="192.0.2.2" drop',
        ),
    ],
)
def test_a_rule_in_the_words_of_nft_and_firewalld(said, nft, rich):
    assert " ".join(firewall.nft_words(FirewallRule(**said))) == nft
    assert firewall._rich(FirewallRule(**said)) == [rich]


@pytest.mark.parametrize(
    ("said", "both", "calls"),
    [
        (rule(protocol="icmp"), True, ["iptables -w -I INPUT -p icmp", "ip6tables -w -I INPUT -p ipv6-icmp"]),
        (rule(protocol="icmp"), False, ["iptables -w -I INPUT -p icmp"]),
        (rule(source="2001:db8::1", direction="out"), True, ["ip6tables -w -I OUTPUT -s 2001:db8::1"]),
    ],
)
def test_a_rule_in_the_words_of_iptables_for_each_family_that_it_concerns(said, both, calls):
    found = [" ".join(argv) for argv in firewall.iptables(FirewallRule(**said), "m1", "-I", both)]
    assert found == [f"{call} -m comment --comment m1 -j DROP" for call in calls]


def test_what_ufw_cannot_say_is_told(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"ufw": ""})
    refused = bench.execute("firewall_rule_add", rule={"direction": "in", "action": "drop", "protocol": "icmp"})
    assert (refused.ran.status, refused.ran.reason) == ("failed", "ufw has no rules for icmp")
    assert not [argv for argv in bench.calls("ufw") if "prepend" in argv]
