"""The eight chains that come with opsapp, each from a real fault on a real host: at `notify` nothing is touched, at
`execute` the fault is gone without a person, and the ledger says which step it was."""

import pytest

from tests.fleet.care import SERVICE, Ward, make_container, old_disk
from tests.fleet.conftest import QUICK
from tests.fleet.healed import promote
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)  # so that what is waited for in vain is told with the heal's story
SPED_UP = {"for": 1, "settle_s": 1, "cooldown_s": 4, "verify_timeout_s": 15}
HOG = """
import hashlib, threading
block = bytes(1 << 20)
def burn():
    while True:
        hashlib.sha256(block).digest()
for _ in range(4):
    threading.Thread(target=burn).start()
"""
EATER = """
import time
kept = []
def figures():
    lines = (line.split() for line in open("/proc/meminfo"))
    return {words[0]: int(words[1]) for words in lines}
while True:
    seen = figures()
    if seen["MemAvailable:"] > seen["MemTotal:"] * 0.06:
        kept.append(bytearray(b"x") * (4 << 20))
    else:
        time.sleep(0.5)  # its own pace: nothing waits for it
"""
RESOLVED = "[Resolve]\nDNS=127.0.0.1:5300\nDNSSEC=no\nLLMNR=no\nMulticastDNS=no\nFallbackDNS=\n"
WIREGUARD = "[Interface]\nPrivateKey = {key}\nAddress = 10.200.0.1/24\n"
BACKUP = "/bin/sh -c 'tar -czf /var/backups/home/$(date +%%s).tar.gz -C /etc hostname'"


@pytest.fixture(scope="module")
def serve(lab, tmp_path_factory):
    config = {**QUICK, "healing": {**QUICK["healing"], "confirm_s": 2}}
    with lab.serve(tmp_path_factory.mktemp("server"), config) as made:
        yield made


@pytest.fixture(scope="module")
def ward(lab, serve):
    host = lab.host()
    try:
        prepare(host)
        yield Ward(
            host,
            serve,
            dns_names=["probe.example"],
            backups={"home": {"files": "/var/backups/home/*.tar.gz", "unit": "backup-home.service"}},
        )
    finally:
        lab.remove(host)


def unit(host, name, start, more=""):
    """A service of the host, enabled and started."""
    host.write(f"/etc/systemd/system/{name}.service", SERVICE.format(start=start, more=more))
    host.exec("systemctl", "daemon-reload")
    host.exec("systemctl", "enable", "--now", name)


def prepare(host):
    """What the chains are about, all of it well: a service, a container, a resolver, a tunnel, a backup."""
    unit(host, "sleeper", "/bin/sleep infinity")
    unit(
        host,
        "upstream",
        "/usr/sbin/dnsmasq --keep-in-foreground --port=5300 --no-resolv --no-hosts --user=root"
        " --address=/probe.example/192.0.2.7",
    )
    host.write("/etc/systemd/resolved.conf.d/lab.conf", RESOLVED)
    # nobody wakes it by asking for it: what is dead stays dead
    host.exec(
        "sh",
        "-c",
        "rm -f /etc/systemd/system/dbus-org.freedesktop.resolve1.service; systemctl daemon-reload;"
        " systemctl restart systemd-resolved; echo nameserver 127.0.0.53 > /etc/resolv.conf",
    )
    key = host.exec("wg", "genkey").stdout.strip()
    host.write("/etc/wireguard/wg0.conf", WIREGUARD.format(key=key), 0o600)
    host.exec("systemctl", "enable", "--now", "wg-quick@wg0")
    host.exec("sh", "-c", "mkdir -p /var/backups/home; tar -czf /var/backups/home/1.tar.gz -C /etc hostname")
    host.write("/etc/systemd/system/backup-home.service", f"[Service]\nType=oneshot\nExecStart={BACKUP}\n")
    host.exec("systemctl", "daemon-reload")
    make_container(host, "web")


def walk(ward, rule, target, fault, mended, **more):
    """At notify: told and untouched. At execute: healed, verified, and really mended. The steps that were taken."""
    target = f"{ward.host.name}/{target}" if target else ward.host.name
    shown = ward.api.get(f"/api/healing/rules/{rule}")
    assert [level["current_level"] for level in ward.api.get("/api/healing/trust") if level["rule_id"] == rule] == [
        "notify"
    ]
    ward.api.put(f"/api/healing/rules/{rule}", {**SPED_UP, **more})
    before = len(ward.commands())
    fault()
    until(
        lambda: [one for one in ward.ledger(rule, target) if one["outcome"] == "notified"],
        60,
        what=f"a notice of {rule} on {target}",
    )
    assert not mended()
    assert len(ward.commands()) == before
    promote(ward.api, rule)
    try:
        until(
            lambda: ward.ledger(rule, target)[-1]["outcome"] == "verified",
            120,  # a step that does not help takes its whole window
            what=f"a verified heal of {rule}",
        )
    except AssertionError as missed:
        raise AssertionError(f"{missed}: {ward.why(rule, target)}\n{ward.log()}") from None
    finally:
        ward.api.post(f"/api/healing/trust/{rule}/demote", {"level": "notify"})
    taken = [one for one in ward.ledger(rule, target) if one["trust_level"] == "execute" and one["action_success"] == 1]
    assert taken[-1]["verified"] == 1
    assert mended()
    assert ward.api.get("/api/healing/ledger/verify")["valid"] is True
    assert ward.api.get(f"/api/healing/rules/{rule}")["escalation_chain"] == shown["escalation_chain"]
    return [one["action_type"] for one in ward.ledger(rule, target) if one["trust_level"] == "execute"]


def alive(ward, pattern):
    return ward.host.exec("pgrep", "-f", pattern, check=False).returncode == 0


def start(ward, name, program):
    ward.host.write(f"/opt/{name}.py", program)
    ward.host.exec("setsid", "-f", "sh", "-c", f"exec python3 /opt/{name}.py > /dev/null 2>&1")


def shown_share(ward):
    """What a hog shows of the processors: all of them, or the most that eight reports say."""
    reports = []

    def is_known():
        report = ward.metrics()
        # the first one after a heal has no rates, for nothing from before it counts
        if report.get("cpu_percent") and report not in reports[-1:]:
            reports.append(report)
        return reports and (reports[-1]["cpu_percent"] > 90 or len(reports) == 8)

    until(is_known, 30, every=0.3, what="what the hog takes in reports")
    return max(report["cpu_percent"] for report in reports)


@pytest.mark.nightly("the core list has two of the chains")
def test_a_processor_hog_is_killed(ward):
    """On a machine with nothing else to do the hog takes all there is. On a busy one the line is drawn lower."""
    start(ward, "hog", HOG)
    share = shown_share(ward)
    if share <= 90:
        print(f"this machine is busy: the hog has {share} %, and the condition is drawn at 40 % of that")
        ward.api.put("/api/healing/rules/default-cpu", {"condition": f"cpu_percent > {share * 0.4:.1f}"})
    if share < 30:
        ward.host.exec("pkill", "-f", "[/]opt/hog.py", check=False)
        pytest.skip(f"this machine is too busy to be made busy: the hog gets {share} % of it")
    taken = walk(ward, "default-cpu", "", lambda: None, lambda: not alive(ward, "[/]opt/hog.py"), settle_s=3)
    assert taken == ["process_kill"]


def test_a_full_disk_is_cleaned(ward):
    """Of what may go however young it is: packages that can be had again."""

    def fill():
        """To the last block: the agent has none left for what it writes down, but those that it keeps aside."""
        ward.host.exec(
            "sh",
            "-c",
            "mkdir -p /tmp/build; cat /dev/zero > /var/cache/apt/archives/big.deb;"
            " while head -c 4096 /dev/zero >> /tmp/build/rest; do :; done",
            timeout=60,
            check=False,
        )

    taken = walk(ward, "default-disk", "/", fill, lambda: ward.metrics()["disks"]["/"] < 90, verify_timeout_s=5)
    assert taken == ["temp_cleanup", "journal_vacuum", "log_rotate", "storage_cleanup"]
    assert not (ward.host.root / "var/cache/apt/archives/big.deb").exists()
    assert (ward.host.root / "tmp/build/rest").exists()


@pytest.mark.nightly("the core list has two of the chains")
def test_a_full_disk_for_data_is_cleaned_and_no_other(ward):
    ward.host.exec("sh", "-c", "mkdir -p /tmp/mine; echo x > /tmp/mine/file; touch -d '9 days ago' /tmp/mine/file")
    with old_disk(ward.host, "/data", ("tmp/deep/old", 20), ("kept", 1)):
        ward.host.exec("sh", "-c", "cp -p /data/kept /data/tmp/copy")
        taken = walk(
            ward,
            "default-disk",
            "/data",
            lambda: ward.host.exec("sh", "-c", "cat /dev/zero > /data/more; true", check=False),
            lambda: ward.metrics()["disks"]["/data"] < 90,
        )
        assert taken == ["temp_cleanup"]
        left = ward.host.exec("find", "/data", "/tmp/mine", "-type", "f").stdout.split()
        assert sorted(left) == ["/data/kept", "/data/more", "/data/tmp/copy", "/tmp/mine/file"]


def test_a_failed_unit_is_restarted(ward):
    taken = walk(
        ward,
        "default-service",
        "sleeper",
        lambda: ward.host.exec("systemctl", "kill", "-s", "KILL", "sleeper"),
        lambda: ward.host.exec("systemctl", "is-active", "sleeper", check=False).stdout == "active\n",
        verify_timeout_s=5,
    )
    assert taken == ["service_reset_failed", "restart_service"]


@pytest.mark.nightly("the core list has two of the chains")
def test_a_dead_container_is_restarted(ward):
    until(lambda: ward.metrics()["containers"].get("web") == "running", 30)
    taken = walk(
        ward,
        "default-container",
        "web",
        lambda: ward.host.exec("podman", "kill", "web"),
        lambda: ward.host.exec("podman", "inspect", "-f", "{{.State.Running}}", "web").stdout == "true\n",
    )
    assert taken == ["restart_container"]


@pytest.mark.nightly("the core list has two of the chains")
def test_a_memory_hog_is_killed_when_nothing_milder_helps(ward):
    if ward.host.lab.figures is None:
        pytest.skip("without lxcfs a host does not see its own memory")
    taken = walk(
        ward, "default-memory", "", lambda: start(ward, "eater", EATER), lambda: not alive(ward, "[/]opt/eater.py")
    )
    assert taken == ["clear_cache", "memory_pressure_relief", "process_kill"]


@pytest.mark.nightly("the core list has two of the chains")
def test_a_dead_resolver_is_restarted(ward):
    until(lambda: ward.metrics().get("dns_ok") == 1, 30, what="names being resolved")
    taken = walk(
        ward,
        "default-dns",
        "",
        lambda: ward.host.exec("systemctl", "stop", "systemd-resolved"),
        lambda: ward.metrics().get("dns_ok") == 1,
    )
    assert taken[-1] == "restart_service"


@pytest.mark.nightly("the core list has two of the chains")
def test_a_lost_tunnel_is_brought_back_and_kept(ward):
    until(lambda: ward.metrics().get("vpn.wg0.up") == 1, 30, what="the tunnel in a report")
    taken = walk(
        ward,
        "default-vpn",
        "wg0",
        lambda: ward.host.exec("ip", "link", "delete", "wg0"),
        lambda: "interface: wg0" in ward.host.exec("wg", "show", check=False).stdout,
    )
    assert taken == ["vpn_reconnect"]
    assert '"confirmed"' in ward.host.exec("sh", "-c", "cat /var/lib/opsapp/armed/*.json").stdout


def test_what_cut_the_host_off_is_undone_there_and_the_ledger_says_so(ward):
    """A tunnel that takes the agent's way to the server away, once it is up: nobody can confirm it, so its agent undoes
    it, and the heal is rolled back, not unknown."""
    host, address = ward.host, ward.host.lab.address
    later = (
        f"PostUp = setsid -f sh -c 'sleep 0.5; ip route replace blackhole {address}' > /dev/null 2>&1\n"
        f"PostDown = ip route delete blackhole {address}\n"
    )
    key = host.exec("wg", "genkey").stdout.strip()
    host.write("/etc/wireguard/wg1.conf", WIREGUARD.format(key=key).replace("10.200.0.1", "10.200.1.1") + later, 0o600)
    host.exec("systemctl", "enable", "wg-quick@wg1")
    rule = ward.api.post(
        "/api/healing/rules",
        {
            "condition": "vpn.wg1.up == 0",
            "severity": "critical",
            "initial_level": "notify",
            "settle_s": 1,
            "verify_timeout_s": 2,
            "action": {"type": "vpn_reconnect", "params": {"interface": "wg1"}},
        },
    )["id"]
    try:
        promote(ward.api, rule)
        (heal,) = until(
            lambda: [one for one in ward.ledger(rule, f"{host.name}/wg1") if one["outcome"] and one["action_type"]],
            120,
            what="the end of the heal",
        )
        assert (heal["outcome"], heal["rollback_status"]) == ("rolled_back", "rolled_back"), heal
        assert "blackhole" not in host.exec("ip", "route").stdout
    finally:
        ward.api.request("DELETE", f"/api/healing/rules/{rule}")
        host.exec("systemctl", "disable", "wg-quick@wg1")
        host.exec("wg-quick", "down", "wg1", check=False)  # the tunnel would be the next rule's case, and cut off again
        host.exec("rm", "/etc/wireguard/wg1.conf")


@pytest.mark.nightly("the core list has two of the chains")
def test_a_stale_backup_is_made_anew(ward):
    until(lambda: ward.metrics().get("backup.home.age_hours") is not None, 30, what="the backup's age in a report")
    taken = walk(
        ward,
        "default-backup",
        "home",
        lambda: ward.host.exec("touch", "-d", "2 days ago", "/var/backups/home/1.tar.gz"),
        lambda: ward.metrics().get("backup.home.age_hours", 99) < 1,
    )
    assert taken == ["trigger_backup"]
