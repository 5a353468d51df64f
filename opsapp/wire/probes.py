"""Probes that server and agents run alike, of those that need sockets alone.

Each side brings a Gate of its own, and sends the web requests itself; `webchecks` judges their answers.
"""

from __future__ import annotations

import calendar
import os
import socket
import struct
import time
from typing import Annotated, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple
from urllib.parse import urlsplit

from .checks import OnWire
from .dataclass import frozen
from .fields import mapping, number, text
from .kinds import Text
from .records import Between
from .typesettings import TypeSettings

MOST_METRICS = 64  # of one check
UNIT_LENGTH = 16
FAMILIES = ("any", "ipv4", "ipv6")
_ECHO = {socket.AF_INET: (8, 0), socket.AF_INET6: (128, 129)}  # (request, reply)


class ProbeFailed(Exception):
    """The target is not as it should be; the text says why."""


class CertificateRefused(ProbeFailed):
    """The certificate is not trusted, or not for this host."""


class ProbeUnavailable(Exception):
    """This machine cannot look at such a target."""


class ProbeTarget(NamedTuple):
    """`timeout` bounds the whole check in seconds."""

    monitor_id: str
    type: str
    url: str
    timeout: float = 10.0
    expected_status: Optional[int] = None
    method: str = "GET"
    headers: Dict[str, str] = {}
    follow_redirects: bool = True
    verify_tls: bool = True
    accepted_statuses: Tuple[str, ...] = ()
    max_redirects: Optional[int] = None
    ip_family: str = FAMILIES[0]
    own: TypeSettings = TypeSettings()
    body: bytes = b""  # sent with the request


GENERAL = ProbeTarget._fields[1:-2]  # what an agent is told of every target


def of_family(addresses: List[str], family: str) -> List[str]:
    """The addresses of this family; ProbeFailed when there are none."""
    kept = [address for address in addresses if family == FAMILIES[0] or (":" in address) == (family == "ipv6")]
    if not kept:
        raise ProbeFailed(f"it has no {'IPv6' if family == 'ipv6' else 'IPv4'} address")
    return kept


@frozen
class Outcome:
    """What a probe saw, also as agents tell it. `ok` None: it could not look at all, which is neither up nor down.
    `degraded`: it is up, and the probe warns. `metrics` are what a plugin measured beside."""

    ok: Optional[bool] = None
    response_time_ms: Annotated[Optional[float], Between(0)] = None
    detail: Annotated[str, Text(0, 2000)] = ""
    phases: Annotated[Optional[Dict[str, float]], OnWire(mapping(number(0), 10))] = None
    certificate_days: Optional[float] = None
    protocol: Annotated[Optional[str], Text(0, 32)] = None
    http_status: Annotated[Optional[int], Between(0, 999)] = None
    degraded: Optional[bool] = None
    metrics: Annotated[Optional[Dict[str, float]], OnWire(mapping(number(), MOST_METRICS))] = None
    units: Annotated[Optional[Dict[str, str]], OnWire(mapping(text(UNIT_LENGTH), MOST_METRICS))] = None


class Gate(Protocol):
    """One probe's access to the network. Whoever made it closes what it opened."""

    def now(self) -> float:
        """The time of the wall clock, in seconds."""

    def left(self) -> float:
        """The seconds that are left; TimeoutError when there are none."""

    def elapsed(self) -> float:
        """Milliseconds since the probe began."""

    def addresses(self, host: str) -> List[str]:
        """The host's addresses that may be reached; ProbeFailed when there are none."""

    def open(self, address: str, kind: int, protocol: int = 0) -> socket.socket:
        """A socket of the address's family."""

    def close(self, sock: socket.socket) -> None:
        """Close a socket before the probe ends."""

    def certificate(self, host: str, port: int, verify: bool) -> bytes:
        """The certificate as DER; CertificateRefused if it is verified and not trusted."""


Probe = Callable[[ProbeTarget, Gate], Outcome]


def guarded(check: Callable[[], Outcome], timeout: float, elapsed: Callable[[], float]) -> Outcome:
    """What went wrong is its outcome."""
    try:
        return check()
    except ProbeUnavailable as unavailable:
        return Outcome(None, None, str(unavailable))
    except ProbeFailed as failed:
        return Outcome(False, None, str(failed))
    except (TimeoutError, socket.timeout):
        return Outcome(False, None, f"no answer within {timeout:g} s")
    except OSError as error:
        return Outcome(False, elapsed(), error.strerror or str(error) or type(error).__name__)
    except ValueError as error:  # a certificate, an address or an answer that makes no sense
        return Outcome(False, None, f"unreadable: {error}")


def connect(gate: Gate, addresses: List[str], port: int) -> socket.socket:
    """Connect to the first address that answers; the last error when none does."""
    last: OSError = OSError("no address")
    for address in addresses:
        sock = gate.open(address, socket.SOCK_STREAM)
        try:
            sock.connect((address, port))
            return sock
        except (TimeoutError, socket.timeout):
            raise TimeoutError from None
        except OSError as error:
            gate.close(sock)
            last = error
    raise last


def tcp(target: ProbeTarget, gate: Gate) -> Outcome:
    """Look whether the port accepts a connection; nothing is sent."""
    parts = urlsplit(target.url)
    addresses = gate.addresses(parts.hostname or "")
    named = gate.elapsed()
    connect(gate, addresses, parts.port or 0)
    took = gate.elapsed()
    return Outcome(True, took, "connected", {"name": named, "connect": round(took - named, 2)})


def ping(target: ProbeTarget, gate: Gate) -> Outcome:
    """The kernel or the random token tells our reply from others'."""
    address = gate.addresses(urlsplit(target.url).hostname or "")[0]
    named = gate.elapsed()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = _echo_socket(gate, address, family)
    token = os.urandom(16)
    sock.connect((address, 0))
    sock.send(echo_request(family, int.from_bytes(os.urandom(2), "big"), token))
    while True:
        sock.settimeout(gate.left())
        packet = sock.recv(2048)
        if is_echo_reply(family, packet, token, raw=sock.type == socket.SOCK_RAW):
            took = round(gate.elapsed() - named, 2)
            return Outcome(True, took, "echo received", {"name": named, "echo": took})


def _echo_socket(gate: Gate, address: str, family: int) -> socket.socket:
    """A datagram ICMP socket where the system allows it, else a raw one."""
    protocol = socket.IPPROTO_ICMP if family == socket.AF_INET else socket.IPPROTO_ICMPV6
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            return gate.open(address, kind, protocol)
        except PermissionError:
            continue
    raise ProbeUnavailable("ping is unavailable: the system allows neither datagram nor raw ICMP sockets")


def echo_request(family: int, identifier: int, token: bytes) -> bytes:
    packet = struct.pack("!BBHHH", _ECHO[socket.AddressFamily(family)][0], 0, 0, identifier, 1) + token
    if family == socket.AF_INET:  # for IPv6 the kernel computes it
        packet = packet[:2] + struct.pack("!H", _checksum(packet)) + packet[4:]
    return packet


def is_echo_reply(family: int, packet: bytes, token: bytes, raw: bool) -> bool:
    """Raw sockets of IPv4 hand over the IP header too."""
    if raw and family == socket.AF_INET and packet and packet[0] >> 4 == 4:
        packet = packet[(packet[0] & 0xF) * 4 :]
    return bool(packet) and packet[0] == _ECHO[socket.AddressFamily(family)][1] and packet[8:] == token


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def tls(target: ProbeTarget, gate: Gate) -> Outcome:
    """The certificate is read first without verification, because OpenSSL shows a refused one to nobody."""
    parts = urlsplit(target.url)
    host, port = parts.hostname or "", parts.port or 443
    days = days_left(gate.certificate(host, port, False), gate.now())
    took, detail = gate.elapsed(), f"certificate ends in {days:.1f} days"
    if not target.verify_tls:
        return Outcome(days > 0, took, detail, None, days)
    try:
        gate.certificate(host, port, True)
    except CertificateRefused as refused:
        return Outcome(False, took, str(refused), None, days)
    return Outcome(True, took, detail, None, days)


def days_left(der: bytes, now: float) -> float:
    return round((not_after(der) - now) / 86400, 2)


def not_after(der: bytes) -> float:
    """Python tells that only of trusted ones; here the few fields before it are skipped."""
    _, inside, _ = _element(der, 0)
    _, position, _ = _element(der, inside)
    tag, _, end = _element(der, position)
    if tag == 0xA0:  # the version, which old ones leave out
        position = end
    for _ in range(3):  # serial number, algorithm, issuer
        position = _element(der, position)[2]
    _, begins, _ = _element(der, position)
    tag, begin, end = _element(der, _element(der, begins)[2])
    text = der[begin:end].decode("ascii")
    if tag == 0x17:  # two digits of the year
        text = ("20" if text[:2] < "50" else "19") + text
    return calendar.timegm(time.strptime(text, "%Y%m%d%H%M%SZ"))


def _element(der: bytes, position: int) -> Tuple[int, int, int]:
    """(tag, where its content begins, where it ends)."""
    try:
        tag, length = der[position], der[position + 1]
        position += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[position : position + size], "big")
            position += size
    except IndexError:
        raise ProbeFailed("unreadable certificate") from None
    if position + length > len(der):
        raise ProbeFailed("unreadable certificate")
    return tag, position, position + length
