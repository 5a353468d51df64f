"""Addresses of clients, and (from `wire.addresses`, because agents judge by it too) which ones may be reached."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlsplit

from opsapp.lib.settings import CheckedBy, Length, Most
from opsapp.wire.addresses import METADATA_NETWORKS, AddressPolicy, carried, plain_address
from opsapp.wire.dataclass import frozen

__all__ = [
    "METADATA_NETWORKS",
    "AddressPolicy",
    "OutboundSettings",
    "PublicPolicy",
    "client_address",
    "counted_address",
    "is_protected",
    "is_trusted",
    "network_problem",
    "plain_address",
]


def network_problem(text: str) -> str | None:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return "must be an address or a network like 10.0.0.0/8"
    return None


# Not for the world, though Python 3.11 calls them global: NAT64 and segments of a site, site-local, examples, relays.
NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in ("64:ff9b:1::/48", "5f00::/16", "fec0::/10", "3fff::/20", "192.88.99.0/24")
)


class PublicPolicy(AddressPolicy):
    """Used where strangers name the address: it allows public addresses, and the networks inside that are allowed by
    name."""

    def __init__(self, inside: Iterable[str], deny: Iterable[str]):
        self._inside = _networks(inside)
        super().__init__((), deny)

    def _judge(self, text: str) -> bool:
        if not super()._judge(text):
            return False
        address = plain_address(text)
        if any(address in network for network in self._inside):
            return True
        return all(_is_public(place) for place in (address, *carried(address)))


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_global and not address.is_multicast and not any(address in network for network in NOT_PUBLIC)


Network = Annotated[str, Length(1, 64), CheckedBy(network_problem)]


@frozen
class OutboundSettings:
    """The keys of `monitoring` that say which networks the service reaches, whatever it sends there."""

    allow_networks: Annotated[tuple[Network, ...], Most(1000)] = ()
    deny_networks: Annotated[tuple[Network, ...], Most(1000)] = METADATA_NETWORKS


def client_address(peer: str, forwarded: str, trusted: Iterable[str]) -> str:
    """The peer, or, where that is a trusted proxy, the last hop of X-Forwarded-For that is none.

    The header is read from its end: only what trusted proxies appended can be believed. A hop that is no address ends
    the reading.
    """
    networks = _networks(trusted)
    client = peer
    for hop in reversed([part.strip() for part in forwarded.split(",") if part.strip()]):
        if not _is_within(client, networks):
            break
        address = _address_of_hop(hop)
        if address is None:
            break
        client = address
    return client


def is_trusted(peer: str, trusted: Iterable[str]) -> bool:
    return _is_within(peer, _networks(trusted))


def _networks(texts: Iterable[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(text, strict=False) for text in texts]


def _is_within(text: str, networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    try:
        address = plain_address(text)
    except ValueError:
        return False
    return any(address in network for network in networks)


def _address_of_hop(hop: str) -> str | None:
    """Proxies write `1.2.3.4`, `1.2.3.4:5678`, `::1`, `[::1]` or `[::1]:5678`."""
    if hop.startswith("["):
        hop = hop[1:].partition("]")[0]
    elif hop.count(":") == 1:
        hop = hop.partition(":")[0]
    try:
        return str(plain_address(hop))
    except ValueError:
        return None


def is_protected(url: str) -> bool:
    """Whether nobody on the way reads or changes what is said there: TLS, or this machine itself."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return True
    try:
        return plain_address(host).is_loopback
    except ValueError:
        return False


def counted_address(text: str) -> str:
    """What attempts are counted by: an IPv4 address, or the /64 of an IPv6 one, which one customer has to himself."""
    try:
        address = plain_address(text)
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))
    return str(address)
