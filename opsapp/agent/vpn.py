"""VPN tunnels of this host: which there ought to be, and which of them are up.

A tunnel ought to be up when the operator names it, when its unit is enabled (wg-quick, openvpn), or when it has been
there since the agent began. Must not: change anything; tell keys.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import re
import socket
import struct
import time
from typing import Dict, Iterable, List, Optional, Set

from .proc import maybe
from .services import ask

NET = "/sys/class/net"
WANTS = "/etc/systemd/system/*.wants"
OPENVPN = ("/etc/openvpn/client/{}.conf", "/etc/openvpn/{}.conf", "/etc/openvpn/server/{}.conf")
HANDSHAKE_S = 180.0  # a WireGuard session without a new handshake for longer than this is dead
_IFF_UP, _IFF_RUNNING, _IFF_TUN = 0x1, 0x40, 0x1
_SIOCGIFFLAGS = 0x8913


class Tunnels:
    def __init__(self, named: Iterable[str]):
        self._named = set(named)
        self._seen: Set[str] = set()

    def states(self) -> Dict[str, bool]:
        self._seen |= present()
        return {name: up(name) for name in sorted(self._named | enabled() | self._seen)}


def present() -> Set[str]:
    """The VPN interfaces: WireGuard in the kernel, and what is on a tun device (openvpn, tailscale, …)."""
    code, output = ask(["ip", "-details", "-json", "link", "show"], 5)
    return tunnels(output) if code == 0 else _of_sysfs()


def tunnels(output: str) -> Set[str]:
    """Devices of tunnels in the output of `ip -details -json link show`."""
    try:
        links = json.loads(output)
    except ValueError:
        return set()
    devices = set()
    for link in links:
        about = link.get("linkinfo") or {}
        kind = about.get("info_kind")
        if kind == "wireguard" or (kind == "tun" and (about.get("info_data") or {}).get("type", "tun") == "tun"):
            devices.add(link["ifname"])
    return devices


def _of_sysfs() -> Set[str]:
    devices = set()
    for name in names():
        flags = (maybe(f"{NET}/{name}/tun_flags") or "").strip()
        if "DEVTYPE=wireguard" in (maybe(f"{NET}/{name}/uevent") or "") or (flags and int(flags, 16) & 0x3 == _IFF_TUN):
            devices.add(name)
    return devices


def names() -> Set[str]:
    """The names of the interfaces, not from /sys, which in a container may show another's."""
    return {name for _, name in socket.if_nameindex()}


def flags(name: str) -> int:
    """The interface's flags as the kernel has them; 0 when there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            flags = fcntl.ioctl(link, _SIOCGIFFLAGS, struct.pack("16s16x", name.encode()[:15]))
        except OSError:
            return 0
    return int(struct.unpack("16xH14x", flags)[0])


def running(name: str) -> bool:
    return bool(flags(name) & _IFF_RUNNING)


def enabled() -> Set[str]:
    names = set()
    for path in glob.glob(f"{WANTS}/*.service"):
        match = re.fullmatch(r"(wg-quick|openvpn|openvpn-client|openvpn-server)@(.+)\.service", os.path.basename(path))
        if match and match.group(1) == "wg-quick":
            names.add(match.group(2))
        elif match:
            device = openvpn_device(match.group(2))
            if device:
                names.add(device)
    return names


def openvpn_device(name: str) -> Optional[str]:
    """The device of a configuration; None when it leaves the number to chance."""
    for place in OPENVPN:
        match = re.search(r"^\s*dev\s+(tun\d+|[\w-]+\d)\s*$", maybe(place.format(name)) or "", re.MULTILINE)
        if match:
            return match.group(1)
    return None


def openvpn_units(interface: str) -> List[str]:
    """The units whose configuration is called so or makes this interface."""
    units = []
    for unit, pattern in (
        ("openvpn-client", "/etc/openvpn/client/*.conf"),
        ("openvpn", "/etc/openvpn/*.conf"),
        ("openvpn-server", "/etc/openvpn/server/*.conf"),
    ):
        for path in sorted(glob.glob(pattern)):
            name = os.path.basename(path)[: -len(".conf")]
            if interface in (name, openvpn_device(name)):
                units.append(f"{unit}@{name}.service")
    return units


def up(name: str) -> bool:
    """Whether the interface is up with something behind it, and (WireGuard) with a peer that answers."""
    return flags(name) & (_IFF_UP | _IFF_RUNNING) == _IFF_UP | _IFF_RUNNING and _talks(name)


def _talks(name: str) -> bool:
    """False when WireGuard keeps every peer alive and none of them has answered for long. Without wg, up is up."""
    if not os.path.exists(f"/etc/wireguard/{name}.conf") and not os.path.exists(f"/var/run/wireguard/{name}.sock"):
        return True
    code, output = ask(["wg", "show", name, "dump"], 3)
    return code != 0 or talks(output, time.time())


def talks(dump: str, now: float) -> bool:
    """`dump` has one peer a line (`wg show … dump`): the fifth word is its last handshake, the eighth its keepalive."""
    kept = [line.split("\t") for line in dump.splitlines()[1:]]
    kept = [peer for peer in kept if len(peer) >= 8 and peer[7].isdigit()]
    if not kept:
        return True
    return any(now - float(peer[4]) <= HANDSHAKE_S + float(peer[7]) for peer in kept if peer[4].isdigit())
