"""The base chains of nftables: each can drop a packet, whatever the others accept. Must not: change a rule."""

from __future__ import annotations

import json
import os
import re
from typing import List, NamedTuple

from opsapp.wire.actionparams import FirewallRule
from opsapp.wire.fields import JsonObject

from .services import ask

HOOKS = {"in": "input", "out": "output"}
EARLIER = {"in": ("ingress", "prerouting"), "out": ("postrouting", "egress")}
LEGACY = {"/proc/net/ip_tables_names": "iptables-legacy", "/proc/net/ip6_tables_names": "ip6tables-legacy"}
_ENDS = re.compile(r'"(?:drop|reject|jump|goto|queue|vmap)"')


class Chain(NamedTuple):
    family: str
    table: str
    name: str
    hook: str
    policy: str
    rules: List[JsonObject]

    def __str__(self) -> str:
        return f"chain {self.name} of table {self.family} {self.table}"

    @property
    def may_drop(self) -> bool:
        """Whether the chain may drop packets. What its rules match is not looked at, nor the chains that they jump
        to."""
        return self.policy == "drop" or bool(_ENDS.search(json.dumps([rule.get("expr") for rule in self.rules])))

    def begins_with(self, mark: str) -> bool:
        return bool(self.rules) and self.rules[0].get("comment") == mark


def base_chains() -> List[Chain]:
    """The base chains that nft lists; OSError when nft does not say."""
    code, output = ask(["nft", "--json", "list", "ruleset"])
    try:
        rows = json.loads(output)["nftables"] if code == 0 else None
    except (ValueError, KeyError, TypeError):
        rows = None
    if rows is None:
        raise OSError(f"nft does not list its rules: {output.strip()[:200]}")
    rules = [row["rule"] for row in rows if "rule" in row]
    chains = [row["chain"] for row in rows if "hook" in row.get("chain", {})]
    return [
        Chain(
            chain["family"],
            chain["table"],
            chain["name"],
            chain["hook"],
            chain.get("policy", "accept"),
            [
                rule
                for rule in rules
                if (rule["family"], rule["table"], rule["chain"]) == (chain["family"], chain["table"], chain["name"])
            ],
        )
        for chain in chains
        if chain.get("type") in ("filter", "route")
    ]


def families(rule: FirewallRule) -> List[str]:
    named = rule.addresses
    if not named:
        return ["inet", "ip", "ip6"]
    return ["inet", "ip6" if any(":" in address for address in named) else "ip"]


def droppers(rule: FirewallRule, chains: List[Chain]) -> List[Chain]:
    """The chains that could drop what a rule accepts."""
    return [
        chain
        for chain in chains
        if chain.hook == HOOKS[rule.direction] and chain.family in families(rule) and chain.may_drop
    ]


def obstacle(rule: FirewallRule, mark: str, chains: List[Chain]) -> str:
    """What may still drop what an accepting rule with this mark is about; "" when nothing does."""
    for chain in droppers(rule, chains):
        if not chain.begins_with(mark):
            return f"{chain} comes with rules of its own before it"
    for chain in chains:
        if chain.hook in EARLIER[rule.direction] and chain.policy == "drop":
            return f"{chain} drops by default at {chain.hook}"
    return legacy_obstacle(rule)


def legacy_obstacle(rule: FirewallRule) -> str:
    """Rules of the iptables before nftables stand beside its own, and nft does not show them."""
    chain = HOOKS[rule.direction].upper()
    for path, program in LEGACY.items():
        if not os.path.exists(path):
            continue
        code, output = ask([program, "--list-rules", chain])
        if code == 0 and re.search(rf"-P {chain} DROP|-j (?!ACCEPT|LOG)", output):
            return f"{program} has rules of its own in {chain}"
    return ""
