"""Interfaces, tunnels and name servers: what was taken is what comes back. `ip` is a program that keeps a state, and
loses of it what the kernel loses."""

import json
import os
import sys

import pytest

from opsapp.agent import fits, native, network, resolver, vpn
from opsapp.agent.processes import Cancel
from opsapp.wire.actionparams import HealParams
from tests.support.fake_tools import Bench

IP = """
import json, sys
place, words = sys.argv[1], sys.argv[3:]
link = json.load(open(place))
said = " ".join(words)
code = 0
if said in link["fails"]:
    print("RTNETLINK answers: Invalid argument")
    sys.exit(2)
if said == "-json address show dev eth7":
    print(json.dumps([{"flags": ["UP"] if link["up"] else [], "addr_info": [
        {"local": each.split("/")[0], "prefixlen": int(each.split("/")[1]),
         "scope": "link" if each.startswith("fe80") else "global"} for each in link["addresses"]]}]))
elif said.endswith("route show dev eth7"):
    print("\\n".join(link["routes"][words[0]]))
elif said == "link set dev eth7 down":    # IPv6 addresses and every route are lost
    link.update(up=False, routes={"-4": [], "-6": []},
                addresses=[each for each in link["addresses"] if ":" not in each])
elif said == "link set dev eth7 up":
    link.update(up=True, carrier=True)
elif words[:2] == ["address", "add"]:
    link["addresses"].append(words[2])
elif words[1:3] == ["route", "replace"]:
    assert words[-2:] == ["dev", "eth7"]
    if "via" in words and not any(each[:3] == words[words.index("via") + 1][:3] for each in link["routes"][words[0]]):
        code = 2    # a gateway that no network leads to
    link["routes"][words[0]].append(" ".join(words[3:-2]))
else:
    code = 255
json.dump(link, open(place, "w"))
sys.exit(code)
"""
LINK = {
    "up": True,
    "addresses": ["10.7.0.2/24", "2001:db8::2/64", "fe80::1/64"],
    "fails": [],
    "routes": {
        "-4": ["default via 10.7.0.1 metric 100", "10.7.0.0/24 proto kernel scope link src 10.7.0.2 linkdown"],
        "-6": ["2001:db8::/64 proto kernel metric 256 pref medium", "fe80::/64 proto kernel metric 256"],
    },
}
TAKEN = {
    "nic": "eth7",
    "up": True,
    "addresses": ["10.7.0.2/24", "2001:db8::2/64"],
    "routes": [
        "-4 default via 10.7.0.1 metric 100",
        "-4 10.7.0.0/24 proto kernel scope link src 10.7.0.2",
        "-6 2001:db8::/64 proto kernel metric 256 pref medium",
    ],
}


class Link:
    """The interface eth7 of a host, and the agent on it."""

    def __init__(self, directory, monkeypatch):
        self.place = directory / "link.json"
        self.is_now(**LINK)
        program = directory / "ip.py"
        program.write_text(IP)
        monkeypatch.setattr(vpn, "names", lambda: {"lo", "eth7"})
        monkeypatch.setattr(vpn, "running", lambda name: self.now["up"])
        self.bench = Bench(directory, monkeypatch, {"ip": f'exec {sys.executable} -I -S {program} {self.place} "$@"'})

    def is_now(self, **changes):
        self.place.write_text(json.dumps({**(self.now if self.place.exists() else {}), **changes}))

    @property
    def now(self):
        return json.loads(self.place.read_text())

    def acts(self):
        return [argv[1:] for argv in self.bench.calls("ip") if "show" not in argv]


@pytest.fixture
def link(tmp_path, monkeypatch):
    return Link(tmp_path, monkeypatch)


def test_an_interface_gets_back_what_going_down_loses(link):
    done = link.bench.execute("network_interface_restart", nic="eth7")
    assert done.ran.status == "done", done
    assert done.data["snapshot"]["state"] == TAKEN
    assert link.acts() == [
        ["link", "set", "dev", "eth7", "down"],
        ["link", "set", "dev", "eth7", "up"],
        ["address", "add", "2001:db8::2/64", "dev", "eth7"],
        ["-4", "route", "replace", "10.7.0.0/24", "proto", "kernel", "scope", "link", "src", "10.7.0.2", "dev", "eth7"],
        [
            "-6",
            "route",
            "replace",
            "2001:db8::/64",
            "proto",
            "kernel",
            "metric",
            "256",
            "pref",
            "medium",
            "dev",
            "eth7",
        ],
        ["-4", "route", "replace", "default", "via", "10.7.0.1", "metric", "100", "dev", "eth7"],
    ]
    assert network.link_is_back(TAKEN, network.take_link(HealParams(nic="eth7"), None))


def test_one_that_was_down_is_down_again_after_an_undoing(link):
    link.is_now(up=False, routes={"-4": [], "-6": []}, addresses=["10.7.0.2/24"])
    done = link.bench.execute("network_interface_restart", nic="eth7")
    assert (done.ran.status, link.now["up"]) == ("done", True), done
    back = link.bench.phase("rollback", "network_interface_restart", given=done.data["snapshot"])
    assert (back.ran.status, back.data["restored"], link.now["up"]) == ("done", True, False)
    assert link.bench.armed.waiting() == []


def test_an_undoing_adds_what_was_lost_meanwhile(link):
    done = link.bench.execute("network_interface_restart", nic="eth7")
    link.is_now(addresses=[], routes={"-4": [], "-6": []})
    back = link.bench.phase("rollback", "network_interface_restart", given=done.data["snapshot"])
    assert (back.ran.status, back.data["restored"]) == ("done", True), back
    assert ["address", "add", "10.7.0.2/24", "brd", "+", "dev", "eth7"] in link.acts()
    assert set(link.now["addresses"]) == set(TAKEN["addresses"])


def test_an_interface_that_does_not_come_up_is_told_and_undone_as_far_as_it_goes(link):
    link.is_now(fails=["link set dev eth7 up"])
    failed = link.bench.execute("network_interface_restart", nic="eth7")
    assert (failed.ran.status, failed.ran.exit_code, failed.data["undone"]) == ("failed", 2, False)
    assert link.bench.armed.waiting()[0].state == "armed"  # the timer tries it again


def test_an_address_that_cannot_be_added_is_named(link):
    link.is_now(fails=["address add 2001:db8::2/64 dev eth7"])
    failed = link.bench.execute("network_interface_restart", nic="eth7")
    assert failed.ran.status == "failed"
    assert failed.ran.reason.startswith("ip address add 2001:db8::2/64 dev eth7: ")


def test_no_carrier_is_waited_for_and_then_done_without(link, monkeypatch):
    monkeypatch.setattr(vpn, "running", lambda name: False)
    monkeypatch.setattr(network, "CARRIER_S", 0.2)
    assert link.bench.execute("network_interface_restart", nic="eth7").ran.status == "done"
    assert set(link.now["addresses"]) >= set(TAKEN["addresses"])


def test_a_cancel_ends_the_waiting_for_a_carrier(link, monkeypatch):
    bench, cancel = link.bench, Cancel()
    monkeypatch.setattr(vpn, "running", lambda name: cancel("cancelled by vera"))
    ran = network.bounce_link(
        native.Context(
            HealParams(nic="eth7"),
            TAKEN,
            bench.host.capabilities,
            cancel,
            float("inf"),
            set(),
            bench.config,
            lambda group: None,
        )
    )
    cancel.close()
    assert (ran.status, ran.reason) == ("cancelled", "cancelled by vera")


@pytest.mark.parametrize("nic", ["lo", "eth8"])
def test_the_loopback_and_what_is_not_there_are_not_restarted(link, nic):
    refused = link.bench.execute("network_interface_restart", nic=nic)
    assert refused.ran.reason == "no_capable_handler"
    assert link.acts() == []


def test_an_interface_that_cannot_be_looked_at_is_not_touched(link):
    link.is_now(fails=["-json address show dev eth7"])
    refused = link.bench.execute("network_interface_restart", nic="eth7")
    assert refused.ran.reason.startswith("no_snapshot: ip address show eth7: RTNETLINK answers")
    assert link.acts() == []


# ---- tunnels
TUNNELS = [
    ("wg", "wg7", {"wg-quick": "", "ip": ""}, ["wg-quick", "up", "wg7"], ["wg-quick", "down", "wg7"]),
    (
        "openvpn",
        "tun7",
        {"systemctl": "", "ip": ""},
        ["systemctl", "restart", "--", "openvpn@tun7.service"],
        ["systemctl", "stop", "--", "openvpn@tun7.service"],
    ),
    ("tailscale", "tailscale0", {"tailscale": "", "ip": ""}, ["tailscale", "up"], ["tailscale", "down"]),
    (
        "other",
        "tun9",
        {"ip": ""},
        ["ip", "link", "set", "dev", "tun9", "up"],
        ["ip", "link", "set", "dev", "tun9", "down"],
    ),
]


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize(("kind", "name", "tools", "raise_it", "lower_it"), TUNNELS, ids=[row[0] for row in TUNNELS])
def test_a_tunnel_is_brought_back_by_what_runs_it(kind, name, tools, raise_it, lower_it, up, tmp_path, monkeypatch):
    isfile = os.path.isfile
    monkeypatch.setattr(os.path, "isfile", lambda path: path == f"/etc/wireguard/{kind}7.conf" or isfile(path))
    monkeypatch.setattr(vpn, "openvpn_units", lambda name: ["openvpn@tun7.service"] if kind == "openvpn" else [])
    monkeypatch.setattr(vpn, "names", lambda: {name})
    states = iter([not up, up])  # before and after the step
    monkeypatch.setattr(vpn, "up", lambda name: next(states))
    bench = Bench(tmp_path, monkeypatch, tools)
    given = {"kind": "tunnel", "params": {"interface": name}, "state": {"interface": name, "exists": True, "up": up}}
    back = bench.phase("rollback", "vpn_reconnect", given=given, interface=name)
    assert (back.ran.status, back.data["restored"]) == ("done", True), back
    assert bench.calls() == [raise_it if up else lower_it]


# ---- name servers
@pytest.fixture
def named(tmp_path, monkeypatch):
    """A host with resolv.conf as a plain file; 192.0.2.9 answers."""
    conf = tmp_path / "resolv.conf"
    conf.write_text("# by hand\nsearch lab\nnameserver 192.0.2.1\nnameserver 192.0.2.9\noptions rotate\n")
    for module in (fits, resolver):
        monkeypatch.setattr(module, "RESOLV_CONF", str(conf))
    monkeypatch.setattr(resolver, "works", lambda names, asked=None: "192.0.2.9" in asked)
    return conf, Bench(tmp_path, monkeypatch, {})


def test_the_second_name_server_takes_the_firsts_place_once_and_gives_it_back(named):
    conf, bench = named
    before = conf.read_text()
    done = bench.execute("failover_dns", primary="192.0.2.1", secondary="192.0.2.9")
    assert done.ran.status == "done", done
    assert conf.read_text() == "# by hand\nsearch lab\nnameserver 192.0.2.9\noptions rotate\n"
    back = bench.phase("rollback", "failover_dns", given=done.data["snapshot"])
    assert (back.ran.status, back.data["restored"], conf.read_text()) == ("done", True, before)


def test_a_name_server_that_is_not_there_or_silent_changes_nothing(named):
    conf, bench = named
    before = conf.read_text()
    for number, (primary, secondary) in enumerate([("192.0.2.77", "192.0.2.9"), ("192.0.2.1", "192.0.2.3")]):
        refused = bench.phase("execute", "failover_dns", heal_id=f"f{number}", primary=primary, secondary=secondary)
        assert (refused.ran.status, refused.data["undone"]) == ("failed", True)
    assert conf.read_text() == before


def test_a_resolv_conf_that_is_a_mount_of_its_own_is_written_in_place(named, monkeypatch):
    """In a container a rename over it is refused."""

    def refused(*_args):
        raise OSError(16, "Device or resource busy")

    conf, bench = named
    number = conf.stat().st_ino
    monkeypatch.setattr(network, "write_whole", refused)
    assert bench.execute("failover_dns", primary="192.0.2.1", secondary="192.0.2.9").ran.status == "done"
    assert resolver.servers(conf.read_text()) == ["192.0.2.9"]
    assert conf.stat().st_ino == number


def test_a_resolv_conf_that_never_was_cannot_come_back(named):
    conf, bench = named
    given = {"kind": "resolver", "params": {}, "state": {"resolv_conf": None, "links": {}}}
    back = bench.phase("rollback", "failover_dns", given=given)
    assert (back.ran.status, back.data["restored"]) == ("failed", False)
    assert back.ran.reason == "there was no resolv.conf to bring back"
    assert conf.exists()


def test_resolved_that_does_not_answer_is_no_state(tmp_path, monkeypatch):
    monkeypatch.setattr(resolver, "RESOLV_CONF", "/run/systemd/resolve/stub-resolv.conf")
    bench = Bench(tmp_path, monkeypatch, {"resolvectl": "echo Failed to connect; exit 1"})
    told = bench.phase("snapshot", "failover_dns", primary="192.0.2.1", secondary="192.0.2.9")
    assert (told.data["snapshot"], told.ran.reason) == (None, "resolvectl dns: Failed to connect")
