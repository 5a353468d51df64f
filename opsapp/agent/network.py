"""Native steps on interfaces, tunnels and name servers, and how their states are recorded and brought back.

All of them can cut the host off, so all of them are armed (armed.py). Must not: touch the loopback.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import time
from typing import Any, Dict, List, Tuple

from opsapp.wire.actionparams import HealParams
from opsapp.wire.fields import JsonObject

from . import resolver, vpn
from .disk import write_whole
from .native import Context, Ran, done, failed, step
from .proc import maybe
from .services import ask

CARRIER_S = 5.0
_FLAGS = {"linkdown", "dead", "pervasive", "offload", "notify"}  # `ip route` shows these and does not take them


class Unseen(OSError):
    """The state could not be recorded."""


# ---- interfaces
def take_link(params: HealParams, _host: Any) -> dict:
    nic = params.nic
    code, output = ask(["ip", "-json", "address", "show", "dev", nic])
    if code != 0:
        raise Unseen(f"ip address show {nic}: {output.strip()[:200]}")
    about = json.loads(output)[0]
    addresses = [
        f"{address['local']}/{address['prefixlen']}"
        for address in about.get("addr_info", [])
        if address.get("scope") != "link" and "local" in address
    ]
    return {"nic": nic, "up": "UP" in about.get("flags", []), "addresses": addresses, "routes": _routes(nic)}


def _routes(nic: str) -> List[str]:
    routes = []
    for family in ("-4", "-6"):
        code, output = ask(["ip", family, "route", "show", "dev", nic])
        lines = output.splitlines() if code == 0 else []
        kept = [[word for word in line.split() if word not in _FLAGS] for line in lines]
        routes += [" ".join([family, *words]) for words in kept if words and not words[0].startswith("fe80")]
    return routes


def link_is_back(before: dict, now: dict) -> bool:
    return (
        before["up"] == now["up"]
        and set(before["addresses"]) <= set(now["addresses"])
        and (
            not before["up"]
            or {_route_key(route) for route in before["routes"]} <= {_route_key(route) for route in now["routes"]}
        )
    )


def _route_key(route: str) -> Tuple[str, ...]:
    """What a route is, without its metric and origin."""
    words = route.split()
    return (*words[:2], words[words.index("via") + 1] if "via" in words else "")


@step
def bounce_link(context: Context) -> Ran:
    """Take the link down and up, and restore the addresses and routes that this loses."""
    nic = context.params.nic
    ran = context.run_all(["ip", "link", "set", "dev", nic, state] for state in ("down", "up"))
    if ran.status != "done":
        return ran
    until = min(time.monotonic() + CARRIER_S, context.deadline)
    while not vpn.running(nic) and time.monotonic() < until:
        if context.cancel.wait(0.05):
            return Ran("cancelled", None, b"", context.cancel.why)
    return _put_back(context, {**context.state, "up": True}, f"{nic} went down and up again")


@step
def restore_link(context: Context) -> Ran:
    before = context.state
    ran = context.run(["ip", "link", "set", "dev", before["nic"], "up" if before["up"] else "down"])
    return ran if ran.status != "done" else _put_back(context, before, f"{before['nic']} is as it was")


def _put_back(context: Context, before: JsonObject, success: str) -> Ran:
    now = take_link(HealParams(nic=before["nic"]), None)
    wanted = [
        ["ip", "address", "add", address, "brd", "+", "dev", before["nic"]]
        if "." in address
        else ["ip", "address", "add", address, "dev", before["nic"]]
        for address in before["addresses"]
        if address not in now["addresses"]
    ]
    if before["up"]:
        present = {_route_key(route) for route in now["routes"]}
        missing = [route for route in before["routes"] if _route_key(route) not in present]
        # A gateway can only be used once the network that it is in can be reached.
        for route in sorted(missing, key=lambda route: " via " in route):
            family, *words = route.split()
            wanted.append(["ip", family, "route", "replace", *words, "dev", before["nic"]])
    output = b""
    for argv in wanted:
        ran = context.run(argv)
        output += ran.output
        if ran.status != "done":
            return ran._replace(output=output, reason=f"{' '.join(argv)}: {ran.reason}")
    return done(success, output)


# ---- tunnels
def take_tunnel(params: HealParams, _host: Any) -> dict:
    name = params.interface
    return {"interface": name, "exists": name in vpn.names(), "up": vpn.up(name)}


@step
def restart_openvpn(context: Context) -> Ran:
    return context.run(["systemctl", "restart", "--", *vpn.openvpn_units(context.params.interface)])


@step
def restore_tunnel(context: Context) -> Ran:
    name, up = context.state["interface"], context.state["up"]
    units = vpn.openvpn_units(name)
    if os.path.isfile(f"/etc/wireguard/{name}.conf") and context.capabilities.usable("wg-quick"):
        return context.run(["wg-quick", "up" if up else "down", name])
    if units:
        return context.run(["systemctl", "restart" if up else "stop", "--", *units])
    if name.startswith("tailscale") and context.capabilities.usable("tailscale"):
        return context.run(["tailscale", "up" if up else "down"])
    return context.run(["ip", "link", "set", "dev", name, "up" if up else "down"])


# ---- name servers
def take_resolver(_params: HealParams, host: Any) -> dict:
    text = maybe(resolver.RESOLV_CONF)
    state: JsonObject = {"resolv_conf": text, "links": {}}
    if os.path.realpath(resolver.RESOLV_CONF).startswith("/run/systemd/resolve/") and host.capabilities.usable(
        "resolvectl"
    ):
        state["links"] = resolved_servers()
    return state


def resolved_servers() -> Dict[str, List[str]]:
    """The name servers of systemd-resolved by link."""
    code, output = ask(["resolvectl", "--no-pager", "dns"])
    if code != 0:
        raise Unseen(f"resolvectl dns: {output.strip()[:200]}")
    return {
        match.group(1): match.group(2).split()
        for match in re.finditer(r"^Link \d+ \((.+?)\):[ \t]*(.*)$", output, re.MULTILINE)
    }


def resolver_is_back(before: dict, now: dict) -> bool:
    if before["links"]:
        return before["links"] == now["links"]
    return before["resolv_conf"] == now["resolv_conf"]


@step
def failover_nameserver(context: Context) -> Ran:
    """Replace the primary name server by the secondary one if that answers."""
    primary, secondary = context.params.primary, context.params.secondary
    text = maybe(resolver.RESOLV_CONF) or ""
    refusal = _cannot_move(primary, secondary, resolver.servers(text))
    if refusal:
        return failed(refusal)
    lines: List[str] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["nameserver"] and words[1:2] in ([primary], [secondary]):
            line = f"nameserver {secondary}"
            if line in lines:
                continue
        lines.append(line)
    _write_resolv_conf("\n".join(lines) + "\n")
    return done(f"{resolver.RESOLV_CONF} names {secondary} in the place of {primary}")


@step
def failover_resolved(context: Context) -> Ran:
    primary, secondary = context.params.primary, context.params.secondary
    links = {name: servers for name, servers in resolved_servers().items() if primary in servers}
    refusal = _cannot_move(primary, secondary, [server for servers in links.values() for server in servers])
    if refusal:
        return failed(refusal)
    after = {
        name: dict.fromkeys(secondary if server == primary else server for server in servers)
        for name, servers in links.items()
    }
    ran = context.run_all(["resolvectl", "dns", name, *servers] for name, servers in after.items())
    if ran.status != "done":
        return ran
    return done(f"{secondary} in the place of {primary} on {', '.join(links)}", ran.output)


def _cannot_move(primary: str, secondary: str, known: List[str]) -> str:
    try:
        ipaddress.ip_address(secondary)
    except ValueError:
        return f"bad_params: {secondary} is not an address"
    if primary not in known:
        return f"{primary} is not among the name servers of this host ({', '.join(known) or 'none'})"
    if resolver.works((), [secondary]) is not True:
        return f"{secondary} does not answer"
    return ""


@step
def restore_resolver(context: Context) -> Ran:
    before = context.state
    if before["links"]:
        ran = context.run_all(
            ["resolvectl", "dns", name, *servers] if servers else ["resolvectl", "revert", name]
            for name, servers in before["links"].items()
        )
        return ran if ran.status != "done" else done("every link has its name servers again")
    if before["resolv_conf"] is None:
        return failed("there was no resolv.conf to bring back")
    _write_resolv_conf(before["resolv_conf"])
    return done(f"{resolver.RESOLV_CONF} is as it was")


def _write_resolv_conf(text: str) -> None:
    """It replaces the file by rename. Where the file is a mount of its own (containers) it writes in place."""
    try:
        write_whole(resolver.RESOLV_CONF, text.encode(), 0o644)
    except OSError:
        with open(resolver.RESOLV_CONF, "w", encoding="utf-8") as file:
            file.write(text)
