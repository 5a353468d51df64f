"""Every way of performing an action that no test host offers, against fake tools that record how they are called.

What a Debian host can do for real is in tests/fleet/test_actions.py; docs/guide/actions.md says which is which."""

import socket
import threading

import pytest

from opsapp.agent import fits, resolver, vpn
from tests.support.fake_tools import Bench

IP = {"direction": "in", "action": "drop", "protocol": "tcp", "port": 22, "source": "192.0.2.0/24"}
OUT = {"direction": "out", "action": "reject", "protocol": "udp", "port": 53, "destination": "198.51.100.7"}
WAYS = [
    # action, params, tools with what they answer, the calls that act
    ("restart_service", {"service": "web"}, {"service": "", "x": ""}, [["service", "web", "restart"]]),
    ("restart_service", {"service": "web"}, {"rc-service": ""}, [["rc-service", "web", "restart"]]),
    ("service_reload", {"service": "web"}, {"sv": ""}, [["sv", "reload", "web"]]),
    ("restart_container", {"container": "web"}, {"docker": ""}, [["docker", "restart", "web"]]),
    (
        "container_image_pull",
        {"container": "web"},
        {"podman": 'case "$2" in inspect) echo \'[{"ImageName": "docker.io/library/nginx:1", "State": {}}]\';; esac'},
        [["podman", "pull", "--", "docker.io/library/nginx:1"]],
    ),
    (
        "compose_restart",
        {"project": "shop"},
        {"docker compose": ""},
        [["docker", "compose", "--project-name", "shop", "restart"]],
    ),
    (
        "compose_restart",
        {"project": "shop"},
        {"docker-compose": ""},
        [["docker-compose", "--project-name", "shop", "restart"]],
    ),
    ("package_cache_clean", {}, {"dnf": ""}, [["dnf", "clean", "all"]]),
    ("package_cache_clean", {}, {"yum": ""}, [["yum", "clean", "all"]]),
    ("package_cache_clean", {}, {"zypper": ""}, [["zypper", "--non-interactive", "clean", "--all"]]),
    ("package_cache_clean", {}, {"apk": ""}, [["apk", "cache", "clean"]]),
    ("package_cache_clean", {}, {"pacman": ""}, [["pacman", "-Sc", "--noconfirm"]]),
    ("package_security_patch", {}, {"dnf": ""}, [["dnf", "--assumeyes", "upgrade", "--security"]]),
    (
        "package_security_patch",
        {},
        {"zypper": ""},
        [["zypper", "--non-interactive", "patch", "--category", "security"]],
    ),
    (
        "cert_renew",
        {"domain": "ops.example"},
        {"certbot": ""},
        [["certbot", "renew", "--non-interactive", "--cert-name", "ops.example"]],
    ),
    ("cert_renew", {"domain": "ops.example"}, {"acme.sh": ""}, [["acme.sh", "--renew", "--domain", "ops.example"]]),
    (
        "cert_renew",
        {"domain": "ops.example"},
        {"dehydrated": ""},
        [["dehydrated", "--cron", "--domain", "ops.example"]],
    ),
    ("flush_dns", {}, {"systemd-resolve": ""}, [["systemd-resolve", "--flush-caches"]]),
    ("flush_dns", {}, {"nscd": ""}, [["nscd", "--invalidate=hosts"]]),
    ("dns_cache_clear", {"instance_id": "dns"}, {"unbound-control": ""}, [["unbound-control", "flush_zone", "."]]),
    ("dns_cache_clear", {"instance_id": "dns"}, {"rndc": ""}, [["rndc", "flush"]]),
    ("dns_cache_clear", {"instance_id": "dns"}, {"rec_control": ""}, [["rec_control", "wipe-cache", ".$"]]),
    ("dns_cache_clear", {"instance_id": "dns"}, {"pihole": ""}, [["pihole", "restartdns", "reload"]]),
    ("zfs_scrub", {"pool": "tank"}, {"zpool": ""}, [["zpool", "scrub", "tank"]]),
    (
        "raid_rebuild",
        {"array": "/dev/md0", "disk": "/dev/sdb1"},
        {"mdadm": ""},
        [["mdadm", "--manage", "/dev/md0", "--add", "/dev/sdb1"]],
    ),
    (
        "snapshot_rollback",
        {"target": "tank/home", "snapshot": "daily"},
        {"zfs": ""},
        [["zfs", "list", "-H", "-t", "snapshot", "tank/home@daily"], ["zfs", "rollback", "-r", "tank/home@daily"]],
    ),
    (
        "snapshot_rollback",
        {"target": "vm7", "snapshot": "clean"},
        {"virsh": ""},
        [["virsh", "domstate", "vm7"], ["virsh", "snapshot-revert", "vm7", "clean"]],
    ),
    ("snapshot_rollback", {"target": "107", "snapshot": "clean"}, {"qm": ""}, [["qm", "rollback", "107", "clean"]]),
    ("vm_restart", {"vm_id": "vm7"}, {"virsh": ""}, [["virsh", "dominfo", "vm7"], ["virsh", "reboot", "vm7"]]),
    (
        "vm_restart",
        {"vm_id": "107", "platform": "proxmox"},
        {"virsh": "", "qm": ""},
        [["qm", "reboot", "107"], ["virsh", "dominfo", "107"]],
    ),
    (
        "vm_migrate",
        {"vm_id": "vm7", "target_node": "kvm-2"},
        {"virsh": ""},
        [["virsh", "dominfo", "vm7"], ["virsh", "migrate", "--live", "--persistent", "vm7", "qemu+ssh://kvm-2/system"]],
    ),
    (
        "vm_migrate",
        {"vm_id": "107", "target_node": "pve2"},
        {"qm": ""},
        [["qm", "migrate", "107", "pve2", "--online"], ["qm", "status", "107"]],
    ),
    ("host_reboot", {}, {"shutdown": ""}, [["shutdown", "-r", "+1"]]),
    ("event_log_clear", {}, {"wevtutil.exe": ""}, [["wevtutil.exe", "clear-log", "Application"]]),
    ("sfc_scan", {}, {"sfc.exe": ""}, [["sfc.exe", "/scannow"]]),
    ("windows_update_check", {}, {"usoclient.exe": ""}, [["usoclient.exe", "StartScan"]]),
    ("chkdsk", {}, {"chkdsk.exe": ""}, [["chkdsk.exe", "C:", "/scan"]]),
    ("fsck_schedule", {}, {"chkntfs.exe": ""}, [["chkntfs.exe", "/C", "C:"]]),
    (
        "scheduled_task_repair",
        {"task": "nightly"},
        {"schtasks.exe": ""},
        [["schtasks.exe", "/Change", "/TN", "nightly", "/ENABLE"], ["schtasks.exe", "/Run", "/TN", "nightly"]],
    ),
    (
        "iis_app_pool_recycle",
        {"pool": "shop"},
        {"appcmd.exe": ""},
        [["appcmd.exe", "recycle", "apppool", "/apppool.name:shop"]],
    ),
    ("wsl_restart", {}, {"wsl.exe": ""}, [["wsl.exe", "--shutdown"]]),
    (
        "driver_rollback",
        {"device": "oem7.inf"},
        {"pnputil.exe": ""},
        [["pnputil.exe", "/delete-driver", "oem7.inf", "/uninstall"], ["pnputil.exe", "/scan-devices"]],
    ),
    ("group_policy_refresh", {}, {"gpupdate.exe": ""}, [["gpupdate.exe", "/force"]]),
    ("group_policy_refresh", {}, {"samba-gpupdate": ""}, [["samba-gpupdate", "--force"]]),
    ("ad_replication_force", {}, {"repadmin.exe": ""}, [["repadmin.exe", "/syncall", "/AdeP"]]),
    ("vpn_reconnect", {"interface": "tailscale0"}, {"tailscale": ""}, [["tailscale", "down"], ["tailscale", "up"]]),
    (
        "vpn_reconnect",
        {"interface": "office"},
        {"nmcli": 'case "$*" in *down*) exit 10;; esac'},
        [
            ["nmcli", "--get-values", "connection.id", "connection", "show", "id", "office"],
            ["nmcli", "connection", "down", "id", "office"],
            ["nmcli", "connection", "up", "id", "office"],
        ],
    ),
    (
        "vpn_reconnect",
        {"interface": "wg7"},
        {"networkctl": 'echo "  State: routable (configured)"'},
        [["networkctl", "status", "--no-pager", "--lines=0", "wg7"], ["networkctl", "reconfigure", "wg7"]],
    ),
]


def acts(calls):
    """Those that change something, in their order."""
    questions = {"inspect", "dominfo", "domstate", "list", "show", "status", "-qa", "ps"}
    return [argv for argv in calls if not questions & set(argv)]


@pytest.mark.parametrize(
    ("action", "params", "tools", "calls"), WAYS, ids=[f"{way[0]}-{'+'.join(way[2])}".replace(" ", "-") for way in WAYS]
)
def test_the_exact_arguments(action, params, tools, calls, tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, tools)
    answer = bench.execute(action, **params)
    assert answer.ran.status == "done", answer
    assert acts(bench.calls()) == acts(calls)
    assert all(argv in bench.calls() for argv in calls)


@pytest.mark.parametrize(
    ("rule", "tool", "script", "added", "removed"),
    [
        (
            IP,
            "ufw",
            "",
            [
                "ufw",
                "prepend",
                "deny",
                "in",
                "proto",
                "tcp",
                "from",
                "192.0.2.0/24",
                "to",
                "any",
                "port",
                "22",
                "comment",
                "MARK",
            ],
            [
                "ufw",
                "--force",
                "delete",
                "deny",
                "in",
                "proto",
                "tcp",
                "from",
                "192.0.2.0/24",
                "to",
                "any",
                "port",
                "22",
            ],
        ),
        (
            OUT,
            "ufw",
            "",
            [
                "ufw",
                "prepend",
                "reject",
                "out",
                "proto",
                "udp",
                "from",
                "any",
                "to",
                "198.51.100.7",
                "port",
                "53",
                "comment",
                "MARK",
            ],
            [
                "ufw",
                "--force",
                "delete",
                "reject",
                "out",
                "proto",
                "udp",
                "from",
                "any",
                "to",
                "198.51.100.7",
                "port",
                "53",
            ],
        ),
        (
            OUT,
            "iptables",
            "",
            [
                "iptables",
                "-w",
                "-I",
                "OUTPUT",
                "-p",
                "udp",
                "-d",
                "198.51.100.7",
                "--dport",
                "53",
                "-m",
                "comment",
                "--comment",
                "MARK",
                "-j",
                "REJECT",
            ],
            [
                "iptables",
                "-w",
                "-D",
                "OUTPUT",
                "-p",
                "udp",
                "-d",
                "198.51.100.7",
                "--dport",
                "53",
                "-m",
                "comment",
                "--comment",
                "MARK",
                "-j",
                "REJECT",
            ],
        ),
        (
            IP,
            "firewall-cmd",
            "",
            [
                "firewall-cmd",
                '--add-rich-rule=rule family="ipv4" source address="192.0.2.0/24" port port="22" protocol="tcp" drop',
            ],
            [
                "firewall-cmd",
                '--remove-rich-rule=rule family="ipv4" source address="192.0.2.0/24"'
                ' port port="22" protocol="tcp" drop',
            ],
        ),
        (
            IP,
            "iptables",
            "",
            [
                "iptables",
                "-w",
                "-I",
                "INPUT",
                "-p",
                "tcp",
                "-s",
                "192.0.2.0/24",
                "--dport",
                "22",
                "-m",
                "comment",
                "--comment",
                "MARK",
                "-j",
                "DROP",
            ],
            [
                "iptables",
                "-w",
                "-D",
                "INPUT",
                "-p",
                "tcp",
                "-s",
                "192.0.2.0/24",
                "--dport",
                "22",
                "-m",
                "comment",
                "--comment",
                "MARK",
                "-j",
                "DROP",
            ],
        ),
    ],
)
def test_a_rule_into_each_firewall_and_out_again(rule, tool, script, added, removed, tmp_path, monkeypatch):
    there = tmp_path / "there"
    keep = (
        f'case "$*" in *prepend*|*add-rich*|*-w\\ -I*) echo "$*" > {there};; *delete*|*remove-rich*|*-w\\ -D*)'
        f" rm -f {there};; *query*) test -e {there};; *) cat {there} 2>/dev/null; exit 0;; esac"
    )
    bench = Bench(tmp_path, monkeypatch, {tool: keep})
    done = bench.execute("firewall_rule_add", rule=rule)
    mark = done.data["snapshot"]["state"]["mark"]
    assert done.ran.status == "done", done
    assert [word.replace("MARK", mark) for word in added] in bench.calls()
    assert bench.armed.waiting()[0].state == "armed"
    back = bench.phase("rollback", "firewall_rule_add", given=done.data["snapshot"])
    assert (back.ran.status, back.data["restored"]) == ("done", True)
    assert [word.replace("MARK", mark) for word in removed] in bench.calls()
    assert bench.armed.waiting() == []


def test_what_a_firewall_cannot_say_is_told(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"firewall-cmd": "exit 1"})
    refused = bench.execute("firewall_rule_add", rule={"direction": "out", "action": "drop"})
    assert (refused.ran.status, refused.data["undone"]) == ("failed", True)
    assert "rich rules" in refused.ran.reason


def test_a_tool_that_does_not_fit_is_told_with_what_was_looked_for(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"nmcli": "exit 10"})
    refused = bench.execute("vpn_reconnect", interface="nosuch0")
    assert refused.ran.reason == "no_capable_handler"
    assert refused.data["looked_for"] == ["wg-quick", "systemctl", "tailscale", "nmcli", "networkctl", "ip"]
    assert refused.data["unfit"] == ["nmcli"]


def test_a_step_that_may_fail_does_not_end_the_chain_and_another_does(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"tailscale": '[ "$2" = down ] && exit 1; exit 3'})
    failed = bench.execute("vpn_reconnect", interface="tailscale0")
    assert (failed.ran.status, failed.ran.exit_code) == ("failed", 3)
    assert [step["exit_code"] for step in failed.data["steps"]] == [1, 3]


def test_an_openvpn_tunnel_by_its_unit_up_and_back(tmp_path, monkeypatch):
    path = "/etc/openvpn/client/office.conf"
    monkeypatch.setattr(vpn.glob, "glob", lambda pattern: [path] if pattern == "/etc/openvpn/client/*.conf" else [])
    bench = Bench(tmp_path, monkeypatch, {"systemctl": ""})
    done = bench.execute("vpn_reconnect", interface="office")
    assert done.ran.status == "done", done
    unit = "openvpn-client@office.service"
    assert bench.calls() == [["systemctl", "restart", "--", unit]]
    before = {**done.data["snapshot"], "state": {**done.data["snapshot"]["state"], "up": True}}
    bench.phase("rollback", "vpn_reconnect", given=before, interface="office")
    assert bench.calls()[1:] == [["systemctl", "restart", "--", unit]]


@pytest.fixture
def resolved(tmp_path, monkeypatch):
    """systemd-resolved as its program shows it: two links, and a name server at 127.0.0.2 that answers."""
    for name in ("eth0", "wlan0"):
        (tmp_path / name).write_text("192.0.2.1 192.0.2.9\n" if name == "eth0" else "192.0.2.9\n")
    conf = "/run/systemd/resolve/stub-resolv.conf"
    for module in (fits, resolver):
        monkeypatch.setattr(module, "RESOLV_CONF", conf)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.2", 0))
        monkeypatch.setattr(resolver, "PORT", link.getsockname()[1])
        monkeypatch.setattr(resolver, "TRY_S", 5.0)
        ending = threading.Event()
        thread = threading.Thread(target=answer_names, args=(link, ending), daemon=True)
        thread.start()
        script = f"""cd {tmp_path}; case "$2" in --no-pager) ;; dns) shift 2; link=$1; shift; echo "$*" > $link;; esac
        [ "$2" = --no-pager ] && n=1 && for one in eth0 wlan0; do n=$((n+1)); echo "Link $n ($one): $(cat $one)"; done
        exit 0"""
        yield Bench(tmp_path, monkeypatch, {"resolvectl": script})
        ending.set()
        thread.join()


def answer_names(link, ending):
    link.settimeout(0.05)
    while not ending.is_set():
        try:
            asked, client = link.recvfrom(512)
        except TimeoutError:
            continue
        link.sendto(asked[:2] + b"\x81\x80\0\1\0\1" + asked[8:], client)


def test_names_fail_over_in_resolved_and_back(resolved, tmp_path):
    done = resolved.execute("failover_dns", primary="192.0.2.1", secondary="127.0.0.2")
    assert done.ran.status == "done", done
    acting = [call for call in resolved.calls() if "--no-pager" not in call]
    assert acting == [["resolvectl", "dns", "eth0", "127.0.0.2", "192.0.2.9"]]
    assert resolved.armed.waiting()[0].state == "armed"
    back = resolved.phase("rollback", "failover_dns", given=done.data["snapshot"])
    assert (back.ran.status, back.data["restored"]) == ("done", True), back
    now = [(tmp_path / name).read_text() for name in ("eth0", "wlan0")]
    assert now == ["192.0.2.1 192.0.2.9\n", "192.0.2.9\n"]


@pytest.mark.parametrize(
    ("primary", "secondary", "reason"),
    [
        ("192.0.2.77", "127.0.0.2", "192.0.2.77 is not among the name servers of this host"),
        ("192.0.2.1", "127.0.0.3", "127.0.0.3 does not answer"),
        ("192.0.2.1", "dns.example", "bad_params: dns.example is not an address"),
    ],
)
def test_names_are_not_moved_to_nobody(resolved, primary, secondary, reason):
    refused = resolved.execute("failover_dns", primary=primary, secondary=secondary)
    assert (refused.ran.status, refused.data["undone"]) == ("failed", True)
    assert refused.ran.reason.startswith(reason)
    assert not [call for call in resolved.calls() if "--no-pager" not in call]


MASKED = """unit='Id=nginx.service\\nLoadState=%s\\nActiveState=failed\\nUnitFileState=%s\\n'
[ "$2" = show ] && printf "$unit" && exit 0
echo "Failed to restart nginx.service: Unit nginx.service is masked."; exit 1"""


@pytest.mark.parametrize(("state", "reason"), [
    ("masked", "masked: nothing can start nginx until somebody unmasks it"), ("loaded", "exit code 1")])  # fmt: skip
def test_a_restart_of_a_masked_unit_says_why_it_failed(tmp_path, monkeypatch, state, reason):
    bench = Bench(tmp_path, monkeypatch, {"systemctl": MASKED.replace("%s", state)})
    answer = bench.execute("restart_service", service="nginx")
    assert (answer.ran.status, answer.ran.exit_code, answer.ran.reason) == ("failed", 1, reason)
