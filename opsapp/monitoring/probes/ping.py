"""ping: an ICMP echo. A datagram ICMP socket where the system allows it, else a raw one, else unavailable."""

from __future__ import annotations

import secrets
import struct
from urllib.parse import urlsplit

import gevent
import gevent.socket as gsocket

from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget, Unavailable

_ECHO = {gsocket.AF_INET: (8, 0), gsocket.AF_INET6: (128, 129)}  # (request, reply)


def probe(prober, target: ProbeTarget) -> Outcome:
    host = urlsplit(target.url).hostname
    started = prober.monotonic()
    with gevent.Timeout(target.timeout, TimeoutError()):
        address = prober.allowed_addresses(host, target.timeout)[0]
        family = gsocket.AF_INET6 if ":" in address else gsocket.AF_INET
        with _open(family) as sock:
            began = prober.monotonic()
            _echo(sock, family, address)
    done = prober.monotonic()
    phases = {"name": round((began - started) * 1000, 2), "echo": round((done - began) * 1000, 2)}
    return Outcome(True, round((done - began) * 1000, 2), "echo received", phases)


def _open(family: int):
    protocol = gsocket.IPPROTO_ICMP if family == gsocket.AF_INET else gsocket.IPPROTO_ICMPV6
    for kind in (gsocket.SOCK_DGRAM, gsocket.SOCK_RAW):
        try:
            return gsocket.socket(family, kind, protocol)
        except PermissionError:
            continue
    raise Unavailable("ping is unavailable: the system allows neither datagram nor raw ICMP sockets")


def _echo(sock, family: int, address: str) -> None:
    """Send one request and wait for its reply; the kernel or the token tells our reply from others'."""
    request, reply = _ECHO[family]
    token = secrets.token_bytes(16)
    head = struct.pack("!BBHHH", request, 0, 0, secrets.randbelow(65536), 1)
    packet = head + token
    if family == gsocket.AF_INET:  # for IPv6 the kernel computes it
        packet = packet[:2] + struct.pack("!H", checksum(packet)) + packet[4:]
    sock.connect((address, 0))
    sock.send(packet)
    while True:
        data = sock.recv(2048)
        if family == gsocket.AF_INET and data and data[0] >> 4 == 4 and sock.type & 0xF == gsocket.SOCK_RAW:
            data = data[(data[0] & 0xF) * 4 :]
        if data and data[0] == reply and data[8:] == token:
            return


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data)) if len(data) % 2 == 0 else checksum(data + b"\0") ^ 0xFFFF
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF
