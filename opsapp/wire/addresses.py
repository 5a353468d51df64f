"""Which addresses may be reached on a user's behalf. Pure: it judges addresses, it resolves none."""

from __future__ import annotations

import functools
import ipaddress
from typing import Iterable, List, Union

# Where clouds hand out credentials to whoever asks from the inside.
METADATA_NETWORKS = (
    "169.254.169.254/32",
    "169.254.170.2/32",
    "169.254.170.23/32",
    "100.100.100.200/32",
    "192.0.0.192/32",
    "168.63.129.16/32",
    "fd00:ec2::254/128",
    "fd00:ec2::23/128",
    "fd20:ce::254/128",
)

# IPv4 in the last 32 bits: NAT64, IPv4-compatible, SIIT.
_IPV4_AT_THE_END = tuple(ipaddress.IPv6Network(network) for network in ("64:ff9b::/96", "::/96", "::ffff:0:0:0/96"))
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_LOCAL_NAT64_BYTES = ((6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), (12, 13, 14, 15))  # by length of prefix: RFC 6052
_ISATAP = (0x5EFE, 0x02005EFE)
_LOOPBACK = {4: ipaddress.ip_address("127.0.0.1"), 6: ipaddress.ip_address("::1")}


def plain_address(text: str) -> Union[ipaddress.IPv4Address, ipaddress.IPv6Address]:
    """IPv4 hidden inside an IPv6 form (mapped, compatible, NAT64, SIIT, 6to4) is unwrapped."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return address.ipv4_mapped
        if address.sixtofour:
            return address.sixtofour
        is_own = address.is_unspecified or address.is_loopback
        if not is_own and any(address in network for network in _IPV4_AT_THE_END):
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def carried(address: Union[ipaddress.IPv4Address, ipaddress.IPv6Address]) -> List[ipaddress.IPv4Address]:
    """The IPv4 addresses that a tunnel or translator (Teredo, ISATAP, NAT64 of a site) may take out of it: only known
    on the way."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    places = list(address.teredo or ())
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP:
        places.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    if address in _LOCAL_NAT64:
        places += [ipaddress.IPv4Address(bytes(address.packed[n] for n in where)) for where in _LOCAL_NAT64_BYTES]
    return places


class AddressPolicy:
    """`deny` always wins; a non-empty `allow` refuses everything that it does not name."""

    def __init__(self, allow: Iterable[str] = (), deny: Iterable[str] = METADATA_NETWORKS):
        self._allow = [ipaddress.ip_network(network, strict=False) for network in allow]
        self._deny = [ipaddress.ip_network(network, strict=False) for network in deny]
        self.allows = functools.lru_cache(maxsize=4096)(self._judge)

    def _judge(self, text: str) -> bool:
        try:
            address, written = plain_address(text), ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            return False
        # A packet to the unspecified address reaches this machine.
        reached = [address, _LOOPBACK[address.version]] if address.is_unspecified else [address]
        if any(place in network for place in (*reached, written, *carried(address)) for network in self._deny):
            return False
        return not self._allow or any(place in network for place in reached for network in self._allow)
