"""Actions that can cut a host off, on a real host: they work, they are brought back, and nobody has to come for it."""

import socket

import pytest

from tests.support.waiting import until

DNSMASQ = (
    "[Service]\nExecStart=/usr/sbin/dnsmasq --keep-in-foreground --user=root --no-resolv --no-hosts"
    " --bind-interfaces --listen-address={} --address=/probe.example/192.0.2.7\n"
)


def rules(box):
    return box.sh("nft list table inet opsapp 2>/dev/null || true")


@pytest.fixture
def changes(box):
    """What the kernel tells about rules: of one that stands for seconds a look at the rules could come too late."""
    box.sh("rm -f /root/changes; systemd-run -q --unit changes sh -c 'stdbuf -oL nft monitor rules > /root/changes'")
    until(lambda: box.sh("pgrep -x nft; true"), 30, what="the monitor")
    yield lambda: box.sh("cat /root/changes")
    box.sh("systemctl stop changes")


def test_a_firewall_rule_is_added_and_taken_out_again(box):
    rule = {"direction": "in", "action": "drop", "protocol": "tcp", "port": 80, "source": "192.0.2.0/24"}
    first = box.do("firewall_rule_add", rule=rule)
    other = box.do("firewall_rule_add", rule={**rule, "port": 81})
    assert "ip saddr 192.0.2.0/24 tcp dport 80" in rules(box)
    box.undo("firewall_rule_add", first)
    assert "dport 80 " not in rules(box)
    assert "dport 81 " in rules(box)
    box.undo("firewall_rule_add", other)
    assert "dport" not in rules(box)


CLOSED = """table inet guard {
 chain input { type filter hook input priority 0; policy drop;
  ct state established,related accept
  tcp dport 22 accept
  iif lo accept
  jump more
 }
 chain more { tcp dport 80 reject; }
}
"""


def reaches(box, port=80):
    """Whether a connection from outside the host comes about."""
    try:
        socket.create_connection((box.host.address, port), 2).close()
    except OSError:
        return False
    return True


def test_an_accepting_rule_makes_the_port_reachable_and_its_undoing_closes_it_again(box):
    rule = {"direction": "in", "action": "accept", "protocol": "tcp", "port": 80}
    box.host.write("/root/guard.nft", CLOSED)
    assert reaches(box)
    box.sh("nft -f /root/guard.nft")
    try:
        before = box.sh("nft list table inet guard")
        assert not reaches(box)
        done = box.do("firewall_rule_add", rule=rule)
        assert reaches(box)
        box.undo("firewall_rule_add", done)
        assert not reaches(box)
        assert box.sh("nft list table inet guard") == before
        refused = box.heal("execute", "firewall_rule_add", "other", rule={**rule, "source": "192.0.2.0/24"})
        assert refused["status"] == "done"
        assert not reaches(box)
    finally:
        box.sh("nft delete table inet guard; nft delete table inet opsapp; true")


def test_an_accepting_rule_that_opens_nothing_has_failed_and_is_gone(box):
    box.host.write(
        "/root/early.nft",
        "table inet early {\n chain pre { type filter hook prerouting priority 0;"
        " policy drop; ct state established,related accept; iif lo accept; tcp dport != 80 accept; }\n}\n",
    )
    box.sh("nft -f /root/early.nft")
    try:
        rule = {"direction": "in", "action": "accept", "protocol": "tcp", "port": 80}
        failed = box.heal("execute", "firewall_rule_add", "early", rule=rule)
        assert (failed["status"], failed["reason"], failed["data"]["undone"]) == (
            "failed",
            "not_reachable: chain pre of table inet early drops by default at prerouting",
            True,
        )
        assert "dport 80" not in rules(box)
    finally:
        box.sh("nft delete table inet early")


def test_a_rule_that_cuts_the_agent_off_is_undone_by_itself(box, changes):
    rule = {"direction": "out", "action": "drop", "protocol": "tcp", "destination": box.host.lab.address}
    name = box.server.command(
        "heal",
        heal_id="cut",
        token=1,
        phase="execute",
        action_type="firewall_rule_add",
        params={"rule": rule},
        timeout=30,
        arm_s=4,
    )
    until(lambda: box.host.lab.address in changes(), 30, what="the rule")
    heard = [len(box.server.reports)]

    def is_gone():
        now = len(box.server.reports)
        if box.host.lab.address not in rules(box):
            return True
        heard.append(now)  # came while the rule stood; what was kept back comes at once when it is gone
        return False

    until(is_gone, 30, what="the rule being gone")
    assert heard[-1] <= heard[0] + 1, "the agent was not cut off at all"
    assert until(lambda: box.server.result(name), 60, what="the result")["status"] == "done"
    late = box.heal("confirm", "firewall_rule_add", "cut")
    assert (late["status"], late["data"]["state"]) == ("failed", "undone")


def test_it_is_undone_after_kill_9_of_the_agent(box, changes):
    rule = {"direction": "out", "action": "drop", "protocol": "tcp", "destination": box.host.lab.address}
    box.server.command(
        "heal",
        heal_id="killed",
        token=1,
        phase="execute",
        action_type="firewall_rule_add",
        params={"rule": rule},
        timeout=30,
        arm_s=4,
    )
    until(lambda: box.host.lab.address in changes(), 30, what="the rule")
    box.sh("systemctl kill -s KILL opsapp-agent")
    until(lambda: box.host.lab.address not in rules(box), 60, what="the rule being gone")
    until(box.server.session, 60, what="a session")


def test_the_interface_of_the_agent_itself_is_restarted(box):
    box.sh("ip route add 198.51.100.0/24 via 10.97.255.254 dev eth0 onlink")
    before = box.sh("ip -4 route show dev eth0 | sort; ip -4 address show dev eth0 | grep inet")
    done = box.heal("execute", "network_interface_restart", "bounce", nic="eth0", arm_s=30)
    assert (done["status"], done["data"]["handler"]) == ("done", ["ip"]), done
    assert box.sh("ip -4 route show dev eth0 | sort; ip -4 address show dev eth0 | grep inet") == before
    assert box.heal("confirm", "network_interface_restart", "bounce", nic="eth0")["data"]["kept"] is True
    box.sh("ip route del 198.51.100.0/24")
    back = box.heal("rollback", "network_interface_restart", "bounce", given=done["data"]["snapshot"])
    assert (back["status"], back["data"]["restored"]) == ("done", True)
    assert "198.51.100.0/24" in box.sh("ip -4 route show dev eth0")
    refused = box.heal("execute", "network_interface_restart", "loopback", nic="lo")
    assert refused["reason"] == "no_capable_handler"


def test_the_other_name_server_takes_over_and_the_first_comes_back(box):
    for number in (2, 3):
        box.unit(f"dns{number}.service", DNSMASQ.format(f"127.0.1.{number}"))
        box.sh(f"systemctl start dns{number}")
        until(lambda number=number: f"127.0.1.{number}:53 " in box.sh("ss -Hlun"), what="a name server that listens")
    box.sh("printf 'search lab\\nnameserver 127.0.1.2\\n' > /etc/resolv.conf")
    done = box.do("failover_dns", arm_s=30, primary="127.0.1.2", secondary="127.0.1.3")
    assert box.sh("cat /etc/resolv.conf").splitlines() == ["search lab", "nameserver 127.0.1.3"]
    box.undo("failover_dns", done)
    assert box.sh("cat /etc/resolv.conf").splitlines() == ["search lab", "nameserver 127.0.1.2"]
    dead = box.heal("execute", "failover_dns", "dead", primary="127.0.1.2", secondary="127.0.1.9")
    assert (dead["reason"], dead["data"]["undone"]) == ("127.0.1.9 does not answer", True)
    pid = box.sh("systemctl show -p MainPID --value dns2")
    box.do("dns_cache_clear", instance_id="dns2")
    until(lambda: "cleared cache" in box.sh("journalctl -u dns2 --no-pager"), 20, what="dnsmasq's word")
    assert box.sh("systemctl show -p MainPID --value dns2") == pid
    box.do("flush_dns")
