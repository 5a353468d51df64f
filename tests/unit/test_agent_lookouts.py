"""What takes a while to look at: name servers, tunnels, backups. Unknown stays unknown."""

import json
import math
import os
import socket
import struct
import tarfile
import threading
import time

import pytest

from opsapp.agent import backups, lookouts, network, resolver, vpn
from opsapp.agent.config import AgentConfig
from opsapp.agent.local import Backup, Wrong, read_backups, read_certificates, read_instances
from tests.support.waiting import until


def config(**more):
    return AgentConfig(server="http://127.0.0.1:1", agent_id="a1", key="k", state_dir="/nowhere", **more)


# ---- name servers
@pytest.fixture
def server(monkeypatch):
    """A name server of this process; `answers`: name → response code (0 with one answer), None: silence."""
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    link.bind(("127.0.0.1", 0))
    monkeypatch.setattr(resolver, "PORT", link.getsockname()[1])
    monkeypatch.setattr(resolver, "TRY_S", 60.0)  # this process answers, when it has its turn
    answers = {}

    def serve():
        while True:
            try:
                said, who = link.recvfrom(512)
            except OSError:
                return
            labels, at = [], 12
            while said[at]:
                labels.append(said[at + 1 : at + 1 + said[at]].decode())
                at += said[at] + 1
            kind = struct.unpack(">H", said[at + 1 : at + 3])[0]
            code = answers.get((".".join(labels), kind), answers.get(".".join(labels)))
            if code is not None:
                link.sendto(
                    said[:2]
                    + bytes([0x81, 0x80 | code])
                    + struct.pack(">HHHH", 1, int(not code), 0, 0)
                    + said[12 : at + 5],
                    who,
                )

    threading.Thread(target=serve, daemon=True).start()
    yield answers
    link.close()


@pytest.mark.parametrize(
    ("names", "answers", "works"),
    [
        ((), {"": 0}, True),
        ((), {"": 5}, True),
        ((), {"": 2}, False),
        ((), {}, False),
        (("a.example",), {"a.example": 0}, True),
        (("a.example",), {"a.example": 3}, False),
        (("a.example",), {("a.example", 1): 3, ("a.example", 28): 0}, True),
        (("a.example", "b.example"), {"a.example": 0, "b.example": 2}, False),
        (("a.example",), {}, False),
    ],
)
def test_names_are_resolved_or_not(server, names, answers, works, monkeypatch):
    server.update(answers)
    if not answers:
        monkeypatch.setattr(resolver, "TRY_S", 0.1)
    assert resolver.works(names, ["127.0.0.1"]) is works


def test_a_second_server_will_do(server):
    server["a.example"] = 0
    assert resolver.works(("a.example",), ["127.0.0.2", "127.0.0.1"]) is True


def test_a_host_without_name_servers_is_unknown_unless_it_ought_to_resolve():
    assert resolver.works((), []) is None
    assert resolver.works(("a.example",), []) is False
    assert resolver.works(("x" * 70,), ["127.0.0.1"]) is False


def test_name_servers_come_from_resolv_conf():
    text = "# nameserver 1.1.1.1\nsearch a\nnameserver 10.0.0.1\n nameserver fe80::1%eth0\nnameserver 3\nnameserver 4\n"
    assert resolver.servers(text) == ["10.0.0.1", "fe80::1%eth0", "3"]


# ---- tunnels
def test_tunnels_among_all_links():
    links = [
        {"ifname": "lo"},
        {"ifname": "eth0", "linkinfo": {"info_kind": "veth"}},
        {"ifname": "wg0", "linkinfo": {"info_kind": "wireguard"}},
        {"ifname": "tun0", "linkinfo": {"info_kind": "tun", "info_data": {"type": "tun"}}},
        {"ifname": "vnet0", "linkinfo": {"info_kind": "tun", "info_data": {"type": "tap"}}},
    ]
    assert vpn.tunnels(json.dumps(links)) == {"wg0", "tun0"}
    assert vpn.tunnels("not json") == set()


def test_a_tunnel_that_was_seen_and_is_gone_is_down(monkeypatch):
    monkeypatch.setattr(vpn, "enabled", set)
    monkeypatch.setattr(vpn, "present", lambda: {"wg9"})
    monkeypatch.setattr(vpn, "up", lambda name: name == "wg9")
    here = vpn.Tunnels(["office"])
    assert here.states() == {"office": False, "wg9": True}
    monkeypatch.setattr(vpn, "present", set)
    monkeypatch.setattr(vpn, "up", lambda name: False)
    assert here.states() == {"office": False, "wg9": False}


def test_flags_are_the_kernels():
    assert vpn.flags("lo") & 1
    assert vpn.flags("nosuch0") == 0
    assert vpn.up("nosuch0") is False


@pytest.mark.parametrize(
    ("peers", "said"),
    [
        ([], True),
        ([("0", "off")], True),
        ([("0", "25")], False),
        ([("900", "25")], True),
        ([("700", "25")], False),
        ([("700", "25"), ("990", "25")], True),
    ],
)
def test_a_peer_that_is_kept_alive_and_silent_is_no_connection(peers, said):
    lines = ["private\tpublic\t51820\toff"]
    lines += [f"peer\t(none)\t192.0.2.1:1\t10.0.0.0/8\t{at}\t1\t1\t{keep}" for at, keep in peers]
    assert vpn.talks("\n".join(lines), 1000.0) is said


def test_units_are_found_by_their_device(tmp_path, monkeypatch):
    (tmp_path / "office.conf").write_text("client\ndev tun3\n")
    monkeypatch.setattr(vpn, "OPENVPN", (f"{tmp_path}/{{}}.conf",))
    assert vpn.openvpn_device("office") == "tun3"
    assert vpn.openvpn_device("nobody") is None
    wants = tmp_path / "multi-user.target.wants"
    wants.mkdir()
    for name in ("wg-quick@wg0.service", "openvpn-client@office.service", "nginx.service"):
        (wants / name).write_text("")
    monkeypatch.setattr(vpn, "WANTS", str(tmp_path / "*.wants"))
    assert vpn.enabled() == {"wg0", "tun3"}


# ---- backups
def test_the_age_of_the_newest(tmp_path):
    for number, hours in enumerate((50, 3, 80)):
        (tmp_path / f"{number}.tar").write_text("x")
        os.utime(tmp_path / f"{number}.tar", (time.time() - hours * 3600,) * 2)
    assert backups.age_hours(Backup("b", files=f"{tmp_path}/*.tar")) == pytest.approx(3, abs=0.1)
    assert backups.age_hours(Backup("b", files=f"{tmp_path}/*.zip")) > 400_000


def test_the_age_that_a_program_or_restic_tells(tmp_path, monkeypatch):
    at = int(time.time()) - 7200
    program = tmp_path / "newest"
    program.write_text(f"#!/bin/sh\necho {at}\n")
    program.chmod(0o755)
    assert backups.age_hours(Backup("b", newest=(str(program),))) == pytest.approx(2, abs=0.1)
    program.write_text("#!/bin/sh\nexit 3\n")
    assert backups.age_hours(Backup("b", newest=(str(program),))) is None
    asked = []

    def ask(argv, seconds):
        asked.append(argv)
        moment = time.strftime("%Y-%m-%dT%H:%M:%S.123456789Z", time.gmtime(at))
        return 0, json.dumps([{"time": moment}])

    monkeypatch.setattr(backups, "ask", ask)
    restic = Backup("b", restic="/srv/r", password_file="/root/pw", paths=("/home",))
    assert backups.age_hours(restic) == pytest.approx(2, abs=0.1)
    assert asked == [
        ["restic", "--repo", "/srv/r", "--password-file", "/root/pw", "snapshots", "--json", "--latest", "1"]
    ]
    monkeypatch.setattr(backups, "ask", lambda argv, seconds: (0, "not json"))
    assert backups.age_hours(restic) is None


@pytest.mark.parametrize(
    ("read", "value", "said"),
    [
        (read_backups, [], "must be an object"),
        (read_backups, {"a b": {}}, "not allowed"),
        (read_backups, {"a": {}}, "files, newest or restic"),
        (read_backups, {"a": {"files": "x"}}, "absolute"),
        (read_backups, {"a": {"files": "/x", "run": ["x"]}}, "absolute"),
        (read_backups, {"a": {"files": "/x", "run": "/x"}}, "must be a list"),
        (read_backups, {"a": {"files": "/x", "unit": "--now"}}, "unit has characters"),
        (read_backups, {"a": {"files": "/x", "speed": 1}}, "speed is not known"),
        (read_backups, {"a": {"restic": "/x"}}, "password_file and paths"),
        (read_certificates, {"a": {"file": "/x"}}, "run is required"),
        (read_certificates, {"a": {"file": "/x", "run": []}}, "program"),
        (read_certificates, {"a": {"file": "x", "run": ["/x"]}}, "abs"),
        (read_instances, {"a": {"kind": "vlc", "url": "http://x", "key_file": "/x"}}, "kind must be"),
        (read_instances, {"a": {"kind": "plex", "url": "file:///x", "key_file": "/x"}}, "http or https"),
        (read_instances, {"a": {"kind": "plex", "url": "http://x", "key_file": "x"}}, "absolute"),
    ],
)
def test_mistakes_of_the_operator_are_named(read, value, said):
    with pytest.raises(Wrong, match=said):
        read(value)


# ---- the thread
def test_what_fails_or_is_old_is_left_out(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(vpn.Tunnels, "states", lambda self: {"wg0": True})
    monkeypatch.setattr(resolver, "works", lambda names: None)
    (tmp_path / "b.tar").write_text("x")
    here = lookouts.Lookouts(
        config(lookout_s=10, backups={"home": Backup("home", files=f"{tmp_path}/*.tar")}), lambda: now[0]
    )
    here.look_now()
    assert here.values() == {"vpn.wg0.up": 1.0, "backup.home.age_hours": pytest.approx(0, abs=0.01)}

    def broken(self):
        raise OSError("no")

    monkeypatch.setattr(vpn.Tunnels, "states", broken)
    now[0] = 30
    here.look()
    assert "vpn.wg0.up" in here.values()
    now[0] = 41
    assert set(here.values()) == {"backup.home.age_hours"}
    here.look_now()
    assert set(here.values()) == {"backup.home.age_hours"}


def test_what_was_seen_before_the_host_was_changed_is_forgotten(monkeypatch):
    """A look that is under way as well: it may have seen what was before."""
    began, go, up = threading.Event(), threading.Event(), [False]

    def states(self):
        seen = {"wg0": up[0]}
        began.set()
        go.wait()
        return seen

    monkeypatch.setattr(vpn.Tunnels, "states", states)
    monkeypatch.setattr(resolver, "works", lambda names: True)
    here = lookouts.Lookouts(config(lookout_s=60))
    thread = threading.Thread(target=here.run, daemon=True)
    thread.start()
    assert began.wait(60)
    up[0] = True
    here.acted()
    go.set()
    until(here.values, what="the next look, which is not waited for")
    until(lambda: here.values().get("vpn.wg0.up") == 1.0, what="what is true by now")
    here.stop()
    thread.join(60)


def test_a_look_that_hangs_holds_no_other_up_and_is_not_heaped_up(monkeypatch):
    monkeypatch.setattr(lookouts, "PATIENCE_S", 0.1)
    go, begun = threading.Event(), []

    def hang(names):
        begun.append(1)
        go.wait()

    monkeypatch.setattr(resolver, "works", hang)
    monkeypatch.setattr(vpn.Tunnels, "states", lambda self: {"wg0": True})
    here = lookouts.Lookouts(config())
    for _ in range(3):
        here.look()
    until(lambda: here.values() and begun, what="the look at tunnels, and the one that hangs")
    assert (here.values(), len(begun)) == ({"vpn.wg0.up": 1.0}, 1)
    for _ in range(3):
        here.look_now()
    until(lambda: here.values() and len(begun) > 1, what="both, anew")
    assert (here.values(), len(begun)) == ({"vpn.wg0.up": 1.0}, 2), "a measurement has a look of its own, and no third"
    go.set()


# ---- archives and links, without a host
def test_a_route_is_its_destination_and_gateway():
    before = {"up": True, "addresses": ["10.0.0.2/24"], "routes": ["-4 default via 10.0.0.1 proto dhcp metric 100"]}
    now = {"up": True, "addresses": ["10.0.0.2/24", "10.0.0.3/24"], "routes": ["-4 default via 10.0.0.1 metric 5"]}
    assert network.link_is_back(before, now)
    assert not network.link_is_back(before, {**now, "routes": []})
    assert not network.link_is_back(before, {**now, "up": False})


def test_an_archive_is_read_to_its_end(tmp_path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(__file__, "file")

    class Here:
        cancel, deadline = False, math.inf

    assert backups._read_through(Here, str(path)).status == "done"
    path.write_bytes(path.read_bytes()[:200])
    assert "cannot be read" in backups._read_through(Here, str(path)).reason
    path.write_bytes(b"")
    assert backups._read_through(Here, str(path)).reason.endswith("is empty")
