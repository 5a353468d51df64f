"""What may still drop what a firewall rule accepts: judged from what nft and the old iptables say of a host."""

import json
from dataclasses import replace

import pytest

from opsapp.agent import basechains, firewall
from opsapp.agent.basechains import Chain, base_chains, droppers, obstacle
from opsapp.wire.actionparams import FirewallRule
from tests.support.fake_tools import Bench

RULE = FirewallRule("in", "accept", "tcp", 80, None, None)
DROP, ACCEPT = [{"drop": None}], [{"counter": {}}, {"accept": None}]


def chain(family="inet", hook="input", policy="accept", *rules):
    return Chain(family, "guard", "c", hook, policy, [{"expr": expr, "comment": comment} for expr, comment in rules])


def test_the_base_chains_of_a_host_are_read(tmp_path, monkeypatch):
    where = {"family": "ip", "table": "filter"}
    rows = [
        {"metainfo": {}},
        {"table": {"family": "ip", "name": "filter"}},
        {"chain": {**where, "name": "INPUT", "type": "filter", "hook": "input", "policy": "drop"}},
        {"chain": {**where, "name": "plain"}},
        {"chain": {**where, "name": "nat", "type": "nat", "hook": "input"}},
        {"rule": {**where, "chain": "INPUT", "expr": ACCEPT}},
        {"rule": {**where, "chain": "plain", "expr": DROP}},
    ]
    Bench(tmp_path, monkeypatch, {"nft": f"echo '{json.dumps({'nftables': rows})}'"})
    [found] = base_chains()
    assert (str(found), found.policy, len(found.rules)) == ("chain INPUT of table ip filter", "drop", 1)


@pytest.mark.parametrize("script", ["exit 1", "echo no", "echo []"])
def test_an_nft_that_does_not_say_is_no_empty_host(tmp_path, monkeypatch, script):
    Bench(tmp_path, monkeypatch, {"nft": script})
    with pytest.raises(OSError, match="does not list its rules"):
        base_chains()


@pytest.mark.parametrize(
    ("source", "direction", "there", "wanted"),
    [
        (None, "in", chain(policy="drop"), True),
        (None, "in", chain("inet", "input", "accept", (DROP, "")), True),
        (None, "in", chain("inet", "input", "accept", ([{"jump": {"target": "x"}}], "")), True),
        (None, "in", chain("inet", "input", "accept", (ACCEPT, "")), False),
        (None, "in", chain(hook="output", policy="drop"), False),
        (None, "out", chain(hook="output", policy="drop"), True),
        ("192.0.2.1", "in", chain("ip6", policy="drop"), False),
        ("2001:db8::1", "in", chain("ip6", policy="drop"), True),
        ("192.0.2.1", "in", chain("bridge", policy="drop"), False),
    ],
)
def test_chains_that_could_drop_it(source, direction, there, wanted):
    assert droppers(replace(RULE, source=source, direction=direction), [there]) == [there] * wanted


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (chain("inet", "input", "drop", (ACCEPT, "mine"), (DROP, "")), ""),
        (chain("inet", "input", "drop", (DROP, ""), (ACCEPT, "mine")), "comes with rules of its own before it"),
        (chain(hook="prerouting", policy="drop"), "drops by default at prerouting"),
        (chain("inet", "prerouting", "accept", (DROP, "")), ""),
    ],
)
def test_what_still_stands_in_the_way(monkeypatch, there, why):
    monkeypatch.setattr(basechains, "LEGACY", {})
    assert obstacle(RULE, "mine", [there]).endswith(why)
    assert bool(obstacle(RULE, "mine", [there])) == bool(why)


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        ("-P INPUT DROP", True),
        ("-P INPUT ACCEPT\n-A INPUT -p tcp -j REJECT", True),
        ("-P INPUT ACCEPT\n-A INPUT -j ACCEPT", False),
    ],
)
def test_rules_of_the_old_iptables_stand_beside_them(tmp_path, monkeypatch, said, stands):
    names = tmp_path / "ip_tables_names"
    monkeypatch.setattr(basechains, "LEGACY", {str(names): "iptables-legacy"})
    Bench(tmp_path, monkeypatch, {"iptables-legacy": f"printf '%b' '{said}'"})
    assert obstacle(RULE, "mine", []) == ""
    names.touch()
    assert bool(obstacle(RULE, "mine", [])) == stands


@pytest.mark.parametrize(("table", "status"), [("guard", "failed"), ("filter", "done")])
def test_a_rule_by_another_tool_does_not_open_what_others_close(tmp_path, monkeypatch, table, status):
    monkeypatch.setattr(firewall, "base_chains", lambda: [Chain("ip", table, "INPUT", "input", "drop", [])])
    bench = Bench(tmp_path, monkeypatch, {"iptables": ""})
    rule = {"direction": "in", "action": "accept", "protocol": "tcp", "port": 80}
    ran = bench.execute("firewall_rule_add", rule=rule).ran
    assert ran.status == status
    assert status == "done" or ran.reason == "not_reachable: chain INPUT of table ip guard drops by default"


def test_where_there_is_no_nftables_the_tool_decides(tmp_path, monkeypatch):
    def nobody():
        raise OSError("no nft")

    monkeypatch.setattr(firewall, "base_chains", nobody)
    bench = Bench(tmp_path, monkeypatch, {"iptables": ""})
    assert bench.execute("firewall_rule_add", rule={"direction": "in", "action": "accept"}).ran.status == "done"
