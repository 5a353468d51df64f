"""Which host a URL may be built from. Never just any Host: who sends one of his own would have it in links, redirects
and invitations that others follow."""

from __future__ import annotations

import re
import socket
from functools import lru_cache
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}
_PORT = re.compile("[0-9]{1,5}")  # `isdigit` is true of ², too, and an integer has a length that Python refuses
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


def netloc(host: str, port: int) -> str:
    """host:port as a URL writes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reachable(bound: tuple[str, int]) -> tuple[str, int]:
    """The bound address as others reach it: where all are bound, the one that this machine would send from."""
    host, port = bound
    if host not in ("0.0.0.0", "::", ""):
        return bound
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: it only chooses a way
            return probe.getsockname()[0], port
        except OSError:
            return "127.0.0.1", port


@lru_cache(maxsize=256)  # every request asks, and nearly all the same
def canonical(host: str | None, base_url: str | None, local: tuple[str, int], scheme: str = "http") -> tuple[str, str]:
    """(scheme, host[:port]) that URLs of this request are built from. A Host that is neither the base_url's nor the
    bound address's is replaced by the first of these that is known. `local`: the address that accepted the
    connection."""
    if base_url:
        parts = urlsplit(base_url)
        if host is None or _same(host, parts.netloc, parts.scheme):
            return parts.scheme, parts.netloc
    if host is not None and _is_bound(host, local, scheme):
        return scheme, host
    if base_url:
        return parts.scheme, parts.netloc
    return scheme, netloc(*local)


def same_origin(origin: str, scheme: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:  # no address at all
        return False
    return parts.scheme == scheme and bool(parts.netloc) and _same(parts.netloc, host, scheme)


def _same(address: str, other: str, scheme: str) -> bool:
    return _split(address, scheme) == _split(other, scheme)


def _split(host: str, scheme: str) -> tuple[str, int | None]:
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = host, ""
    if port and not _PORT.fullmatch(port):
        return host.lower(), None  # no port at all: nobody's address
    return name.lower().rstrip("."), int(port) if port else _DEFAULT_PORTS.get(scheme)


def _is_bound(host: str, local: tuple[str, int], scheme: str) -> bool:
    name, port = _split(host, scheme)
    if port != local[1]:
        return False
    address = f"[{local[0]}]" if ":" in local[0] else local[0]
    loopback = address in _LOOPBACK_NAMES or address.startswith("127.")
    return name == address.lower() or (loopback and name in _LOOPBACK_NAMES)
