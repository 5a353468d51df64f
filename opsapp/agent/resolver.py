"""Does this host resolve names? Its name servers are asked directly, with a plain query.

Must not: change anything; go through the C library's resolver, whose time-outs nobody can bound.
"""

from __future__ import annotations

import re
import secrets
import socket
import struct
import time
from typing import List, Optional, Tuple

from .proc import maybe

RESOLV_CONF = "/etc/resolv.conf"
PORT = 53
TRY_S = 1.0
TRIES = 2
MOST_SERVERS = 3
_NOERROR, _SERVFAIL, _NXDOMAIN = 0, 2, 3
_A, _NS, _AAAA = 1, 2, 28


def servers(text: Optional[str] = None) -> List[str]:
    """The host's name servers in its own order."""
    lines = (maybe(RESOLV_CONF) if text is None else text) or ""
    return re.findall(r"^\s*nameserver\s+(\S+)", lines, re.MULTILINE)[:MOST_SERVERS]


def works(names: Tuple[str, ...], asked: Optional[List[str]] = None) -> Optional[bool]:
    """Whether every name is resolved by some server; without names, whether some server answers at all. None: this host
    has no name server and nobody said that it should resolve anything."""
    asked = servers() if asked is None else asked
    if not names:
        return any(_answers(server, ".", _NS) not in (None, _SERVFAIL) for server in asked) if asked else None
    return all(any(_resolves(server, name) for server in asked) for name in names)


def _resolves(server: str, name: str) -> bool:
    code = _answers(server, name, _A)
    return code == _NOERROR or (code is not None and _answers(server, name, _AAAA) == _NOERROR)


def _answers(server: str, name: str, kind: int) -> Optional[int]:
    """The server's response code, None when it stays silent. An answer without records is NXDOMAIN to us."""
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as link:
            link.connect((server, PORT))
            for _ in range(TRIES):
                code = _ask(link, name, kind)
                if code is not None:
                    return code
    except (OSError, UnicodeError):
        return None
    return None


def _ask(link: socket.socket, name: str, kind: int) -> Optional[int]:
    number = secrets.randbelow(65536)
    labels = b"".join(bytes([len(part)]) + part for part in _labels(name))
    link.send(struct.pack(">HHHHHH", number, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1))
    until = time.monotonic() + TRY_S
    while time.monotonic() < until:
        link.settimeout(max(0.01, until - time.monotonic()))
        try:
            packet = link.recv(4096)
        except socket.timeout:
            return None
        if len(packet) >= 12 and struct.unpack(">H", packet[:2])[0] == number and packet[2] & 0x80:
            code, answers = packet[3] & 0x0F, struct.unpack(">H", packet[6:8])[0]
            return _NXDOMAIN if code == _NOERROR and not answers and kind != _NS else code
    return None


def _labels(name: str) -> List[bytes]:
    parts = [part.encode("idna") for part in name.strip(".").split(".") if part]
    if any(len(part) > 63 for part in parts):
        raise UnicodeError("a label is too long")
    return parts
