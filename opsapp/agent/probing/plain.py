"""tcp, ping and tls: a connection, an echo, a handshake. The same judgements as the server's own probes make."""

from __future__ import annotations

import calendar
import os
import socket
import struct
import time
from typing import Any, Dict, Tuple
from urllib.parse import urlsplit

from opsapp.agent.transport import tls_context

from .gate import Failed, Gate, Unavailable, outcome

_ECHO = {socket.AF_INET: (8, 0), socket.AF_INET6: (128, 129)}  # (request, reply)


def tcp(target: Dict[str, Any], gate: Gate) -> Dict[str, Any]:
    parts = urlsplit(target["url"])
    addresses = gate.addresses(parts.hostname or "")
    named = gate.elapsed()
    gate.connect(addresses, parts.port or 0)
    took = gate.elapsed()
    return outcome(True, took, "connected", phases={"name": named, "connect": round(took - named, 2)})


def ping(target: Dict[str, Any], gate: Gate) -> Dict[str, Any]:
    address = gate.addresses(urlsplit(target["url"]).hostname or "")[0]
    named = gate.elapsed()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = _echo_socket(gate, address, family)
    token = os.urandom(16)
    request, reply = _ECHO[family]
    head = struct.pack("!BBHHH", request, 0, 0, int.from_bytes(os.urandom(2), "big"), 1)
    packet = head + token
    if family == socket.AF_INET:  # for IPv6 the kernel computes it
        packet = packet[:2] + struct.pack("!H", _checksum(packet)) + packet[4:]
    sock.connect((address, 0))
    sock.send(packet)
    while True:
        sock.settimeout(gate.left())
        data = sock.recv(2048)
        if sock.type == socket.SOCK_RAW and family == socket.AF_INET and data and data[0] >> 4 == 4:
            data = data[(data[0] & 0xF) * 4 :]
        if data and data[0] == reply and data[8:] == token:
            took = gate.elapsed()
            return outcome(
                True, round(took - named, 2), "echo received", phases={"name": named, "echo": round(took - named, 2)}
            )


def _echo_socket(gate: Gate, address: str, family: int) -> socket.socket:
    protocol = socket.IPPROTO_ICMP if family == socket.AF_INET else socket.IPPROTO_ICMPV6
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            return gate.open(address, kind, protocol)
        except PermissionError:
            continue
    raise Unavailable("ping is unavailable: the system allows neither datagram nor raw ICMP sockets")


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def tls(target: Dict[str, Any], gate: Gate) -> Dict[str, Any]:
    parts = urlsplit(target["url"])
    host, port = parts.hostname or "", parts.port or 443
    days = look(gate, host, port)
    took = gate.elapsed()
    if not target["verify_tls"]:
        return outcome(days > 0, took, f"certificate ends in {days:.1f} days", certificate_days=days)
    import ssl

    try:
        handshake(gate, host, port, verify=True)
    except ssl.SSLCertVerificationError as error:
        return outcome(False, took, f"certificate: {error.verify_message}", certificate_days=days)
    return outcome(True, took, f"certificate ends in {days:.1f} days", certificate_days=days)


def look(gate: Gate, host: str, port: int) -> float:
    """Days that are left of the certificate that the host shows, trusted or not."""
    wrapped = handshake(gate, host, port, verify=False)
    return days_left(wrapped)


def handshake(gate: Gate, host: str, port: int, *, verify: bool) -> Any:
    sock = gate.connect(gate.addresses(host), port)
    return secure(gate, sock, host, verify=verify)


def secure(gate: Gate, sock: socket.socket, host: str, *, verify: bool) -> Any:
    """The socket with TLS on it."""
    context = tls_context()
    if not verify:
        import ssl

        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    sock.settimeout(gate.left())
    wrapped = context.wrap_socket(sock, server_hostname=host)
    gate.adopt(wrapped, sock)
    return wrapped


def days_left(wrapped: Any) -> float:
    der = wrapped.getpeercert(binary_form=True)
    if not der:
        raise Failed("no certificate was shown")
    return round((not_after(der) - time.time()) / 86400, 2)


def not_after(der: bytes) -> float:
    """When a certificate ends. Python tells that only of those it trusts; here the few fields before it are skipped."""
    _, inside, _ = _element(der, 0)
    _, at, _ = _element(der, inside)
    tag, _, end = _element(der, at)
    if tag == 0xA0:  # the version, which old ones leave out
        at = end
    for _ in range(3):  # serial number, algorithm, issuer
        at = _element(der, at)[2]
    _, begins, _ = _element(der, at)
    tag, begin, end = _element(der, _element(der, begins)[2])
    said = der[begin:end].decode("ascii")
    if tag == 0x17:  # two digits of the year
        said = ("20" if said[:2] < "50" else "19") + said
    return calendar.timegm(time.strptime(said, "%Y%m%d%H%M%SZ"))


def _element(der: bytes, at: int) -> Tuple[int, int, int]:
    """(tag, where its content begins, where it ends)."""
    try:
        tag, length = der[at], der[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[at : at + size], "big")
            at += size
    except IndexError:
        raise Failed("an unreadable certificate") from None
    if at + length > len(der):
        raise Failed("an unreadable certificate")
    return tag, at, at + length
