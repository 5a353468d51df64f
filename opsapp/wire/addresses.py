"""Which addresses may be reached on a user's behalf. Pure: it judges addresses, it resolves none."""

from __future__ import annotations

import functools
import ipaddress
from typing import Iterable, Union

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

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOOPBACK = {4: ipaddress.ip_address("127.0.0.1"), 6: ipaddress.ip_address("::1")}


def plain_address(text: str) -> Union[ipaddress.IPv4Address, ipaddress.IPv6Address]:
    """The address that a packet would reach: IPv4 hidden inside an IPv6 form (mapped, NAT64, 6to4) is unwrapped."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return address.ipv4_mapped
        if address.sixtofour:
            return address.sixtofour
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


class AddressPolicy:
    """`deny` always wins; a non-empty `allow` refuses everything that it does not name."""

    def __init__(self, allow: Iterable[str] = (), deny: Iterable[str] = METADATA_NETWORKS):
        self._allow = [ipaddress.ip_network(network, strict=False) for network in allow]
        self._deny = [ipaddress.ip_network(network, strict=False) for network in deny]
        self.allows = functools.lru_cache(maxsize=4096)(self._judge)

    def _judge(self, text: str) -> bool:
        try:
            address = plain_address(text)
        except ValueError:
            return False
        # A packet to the unspecified address reaches this machine.
        reached = [address, _LOOPBACK[address.version]] if address.is_unspecified else [address]
        if any(place in network for place in reached for network in self._deny):
            return False
        return not self._allow or any(place in network for place in reached for network in self._allow)
