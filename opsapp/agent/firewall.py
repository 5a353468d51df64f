"""One rule into the host's firewall, by whichever program keeps it, and that very rule out again.

A rule carries a mark as its comment, so that undoing it takes away nothing else. It is not made permanent: a reboot
ends it. A rule that accepts something has failed where another chain still drops it. Must not: change or remove
anybody else's rules.
"""

from __future__ import annotations

import re
import secrets
from typing import Any, List

from opsapp.wire.actionparams import FirewallRule, HealParams

from .basechains import HOOKS, base_chains, droppers, obstacle
from .native import Context, Ran, failed, step
from .services import ask

TABLE = ("inet", "opsapp")
TOOLS = ("ufw", "firewall-cmd", "nft", "iptables")  # in the order of the action's handlers


def given_rule(context: Context) -> FirewallRule:
    rule = context.params.rule
    assert rule is not None  # the action table requires it
    return rule


def take_firewall(params: HealParams, host: Any) -> dict:
    """The mark that the new rule will have, and the rules as they are."""
    tool = next((name for name in TOOLS if host.capabilities.usable(name)), "")
    return {
        "mark": f"opsapp-{secrets.token_hex(6)}",
        "tool": tool,
        "rule": None if params.rule is None else vars(params.rule),
        "rules": _listing(tool)[:20000],
    }


def look_again(before: dict, _params: HealParams, _host: Any) -> dict:
    if before["tool"] == "firewall-cmd":
        present = any(
            ask(["firewall-cmd", f"--query-rich-rule={rich}"])[0] == 0 for rich in _rich(FirewallRule(**before["rule"]))
        )
    else:
        present = before["mark"] in _listing(before["tool"])
    return {"present": present}


def _listing(tool: str) -> str:
    argvs = {
        "nft": [["nft", "--handle", "list", "ruleset"]],
        "iptables": [["iptables", "-S"], ["ip6tables", "-S"]],
        "ufw": [["ufw", "status", "verbose"]],
        "firewall-cmd": [["firewall-cmd", "--list-rich-rules"]],
    }
    return "".join(output for code, output in map(ask, argvs.get(tool, [])) if code == 0)


# ---- nftables: a table of our own; to accept something, a rule in every chain that could drop it
@step
def add_nft_rule(context: Context) -> Ran:
    rule, mark = given_rule(context), context.state["mark"]
    chain = HOOKS[rule.direction]
    hook = f"{{ type filter hook {chain} priority -10 ; policy accept ; }}"
    places = [(*TABLE, chain)]
    made = context.run_all([["nft", "add", "table", *TABLE], ["nft", "add", "chain", *TABLE, chain, hook]])
    if made.status != "done":
        return made
    if rule.action == "accept":
        try:
            others = droppers(rule, base_chains())
        except OSError as error:
            return failed(str(error))
        places += [(other.family, other.table, other.name) for other in others if (other.family, other.table) != TABLE]
    # The newest decides: it comes before the rules that are there.
    words = [*nft_words(rule), "comment", f'"{mark}"']
    ran = context.run_all([["nft", "insert", "rule", *place, *words] for place in places])
    return _opened(ran, rule, mark) if rule.action == "accept" and ran.status == "done" else ran


def _opened(ran: Ran, rule: FirewallRule, mark: str) -> Ran:
    """A rule that does not open anything is no success."""
    try:
        why = obstacle(rule, mark, base_chains())
    except OSError as error:
        why = str(error)
    return failed(f"not_reachable: {why}", ran.output) if why else ran


def _beside(tool: str, rule: FirewallRule, ran: Ran) -> Ran:
    why = _foreign(tool, rule) if rule.action == "accept" and ran.status == "done" else ""
    return failed(why, ran.output) if why else ran


def _foreign(tool: str, rule: FirewallRule) -> str:
    """A chain of others that drops by default, which a rule made with this tool leaves as it is; "" without one."""
    own = {"firewall-cmd": ("firewalld",), "ufw": ("filter",), "iptables": ("filter",)}[tool]
    try:
        chains = base_chains()
    except OSError:
        return ""  # there is no nftables beside it
    closed = [chain for chain in droppers(rule, chains) if chain.table not in own and chain.policy == "drop"]
    return f"not_reachable: {closed[0]} drops by default" if closed else ""


def nft_words(rule: FirewallRule) -> List[str]:
    words: List[str] = []
    for address, side in ((rule.source, "saddr"), (rule.destination, "daddr")):
        if address:
            words += ["ip6" if ":" in address else "ip", side, address]
    if rule.port:
        words += [rule.protocol, "dport", str(rule.port)]
    elif rule.protocol == "icmp":
        words += ["meta", "l4proto", "{ icmp, ipv6-icmp }"]
    elif rule.protocol != "any":
        words += ["meta", "l4proto", rule.protocol]
    return [*words, "counter", rule.action]


def _remove_nft(context: Context) -> Ran:
    table: List[str] = []
    chain, wanted = "", []
    for line in _listing("nft").splitlines():
        begins = re.match(r"(table) (\S+ \S+) {|\s*(chain) (\S+) {", line)
        if begins and begins.group(1):
            table = begins.group(2).split()
        elif begins:
            chain = begins.group(4)
        handle = re.search(r"# handle (\d+)$", line)
        if context.state["mark"] in line and handle:
            wanted.append(["nft", "delete", "rule", *table, chain, "handle", handle.group(1)])
    return context.run_all(wanted)


# ---- iptables
@step
def add_iptables_rule(context: Context) -> Ran:
    rule = given_rule(context)
    return _beside("iptables", rule, context.run_all(iptables(rule, context.state["mark"], "-I", _has_ip6tables())))


def _remove_iptables(context: Context) -> Ran:
    return context.run_all(
        iptables(FirewallRule(**context.state["rule"]), context.state["mark"], "-D", _has_ip6tables())
    )


def _has_ip6tables() -> bool:
    return ask(["ip6tables", "-S"])[0] == 0


def iptables(rule: FirewallRule, mark: str, verb: str, both_families: bool) -> List[List[str]]:
    """Commands for the family of the rule's addresses. A rule without addresses may be for both."""
    named = rule.addresses
    programs = ["ip6tables"] if any(":" in address for address in named) else ["iptables"]
    if not named and both_families:
        programs.append("ip6tables")
    argvs = []
    for program in programs:
        icmp = "ipv6-icmp" if program == "ip6tables" else "icmp"
        words = [] if rule.protocol == "any" else ["-p", icmp if rule.protocol == "icmp" else rule.protocol]
        words += ["-s", rule.source] if rule.source else []
        words += ["-d", rule.destination] if rule.destination else []
        words += ["--dport", str(rule.port)] if rule.port else []
        chain = "INPUT" if rule.direction == "in" else "OUTPUT"
        argvs.append(
            [program, "-w", verb, chain, *words, "-m", "comment", "--comment", mark, "-j", rule.action.upper()]
        )
    return argvs


# ---- ufw and firewalld
@step
def add_ufw_rule(context: Context) -> Ran:
    rule = given_rule(context)
    if rule.protocol == "icmp":
        return failed("ufw has no rules for icmp")
    argv = ["ufw", "prepend", *ufw_words(rule), "comment", context.state["mark"]]
    return _beside("ufw", rule, context.run(argv))


def ufw_words(rule: FirewallRule) -> List[str]:
    words = [{"drop": "deny", "reject": "reject", "accept": "allow"}[rule.action], rule.direction]
    words += [] if rule.protocol == "any" else ["proto", rule.protocol]
    words += ["from", rule.source or "any", "to", rule.destination or "any"]
    return words + (["port", str(rule.port)] if rule.port else [])


@step
def add_firewalld_rule(context: Context) -> Ran:
    rule = given_rule(context)
    if rule.direction == "out":
        return failed("firewalld has no rich rules for what leaves")
    argvs = [["firewall-cmd", f"--add-rich-rule={rich}"] for rich in _rich(rule)]
    return _beside("firewall-cmd", rule, context.run_all(argvs))


def _rich(rule: FirewallRule) -> List[str]:
    words = ["rule"]
    named = rule.addresses
    if named:
        words.append(f'family="{"ipv6" if ":" in named[0] else "ipv4"}"')
    words += [f'source address="{rule.source}"'] if rule.source else []
    words += [f'destination address="{rule.destination}"'] if rule.destination else []
    if rule.port:
        words.append(f'port port="{rule.port}" protocol="{rule.protocol}"')
    elif rule.protocol != "any":
        words.append(f'protocol value="{rule.protocol}"')
    return [" ".join([*words, rule.action])]


@step
def remove_rule(context: Context) -> Ran:
    tool, rule = context.state["tool"], FirewallRule(**context.state["rule"])
    if tool == "nft":
        return _remove_nft(context)
    if tool == "iptables":
        return _remove_iptables(context)
    if tool == "ufw":
        return context.run(["ufw", "--force", "delete", *ufw_words(rule)])
    if tool == "firewall-cmd":
        return context.run_all([["firewall-cmd", f"--remove-rich-rule={rich}"] for rich in _rich(rule)])
    return failed("no firewall was found when the rule was made")
