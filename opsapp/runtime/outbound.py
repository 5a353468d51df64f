"""One outgoing HTTP request on a user's behalf, under the address policy. Blocking: for a lane's thread, never the hub.

Must not: follow redirects, keep connections, use the environment's proxies. Whoever calls decides what may be repeated.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from typing import Any, NamedTuple

import pycurl

from opsapp.lib.networks import AddressPolicy

KEPT_BODY = 16 * 1024


class Sent(NamedTuple):
    """`status` is 0 when there was no answer; then `error` says why. `left`: whether the request may have arrived."""

    status: int
    body: bytes
    error: str
    left: bool

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300 and not self.error


class _Descriptor:
    """What pycurl duplicates and drops: the original is closed as soon as nobody holds it."""

    def __init__(self, fd: int):
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def __del__(self) -> None:
        os.close(self._fd)


class _Gate:
    """Judges the address that libcurl is about to connect to, whatever it made of the URL; keeps the body's head."""

    def __init__(self, policy: AddressPolicy):
        self.policy = policy
        self.refused = ""
        self.body = b""

    def open_socket(self, _purpose: Any, address: Any) -> Any:
        ip = address.addr[0]
        ip = ip.decode() if isinstance(ip, bytes) else ip
        if not self.policy.allows(ip):
            self.refused = ip
            return pycurl.SOCKET_BAD
        return _Descriptor(socket.socket(address.family, address.socktype, address.protocol).detach())

    def write(self, data: bytes) -> None:
        self.body += data[: KEPT_BODY - len(self.body)]


def request(
    method: str,
    url: str,
    *,
    policy: AddressPolicy,
    timeout: float,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    ca_file: str = "",
) -> Sent:
    """Send it and wait for the whole answer, at most `timeout` seconds."""
    gate, easy = _Gate(policy), pycurl.Curl()
    try:
        for option, value in (
            (pycurl.URL, url.encode()),
            (pycurl.CUSTOMREQUEST, method),
            (pycurl.NOSIGNAL, 1),
            (pycurl.PROXY, ""),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.TIMEOUT_MS, max(1, int(timeout * 1000))),
            (pycurl.OPENSOCKETFUNCTION, gate.open_socket),
            (pycurl.WRITEFUNCTION, gate.write),
            (
                pycurl.HTTPHEADER,
                [f"{name}: {value}".encode() for name, value in (headers or {}).items()] + [b"Expect:"],
            ),
            *_trust(ca_file),
        ):
            easy.setopt(option, value)
        if body or method not in ("GET", "HEAD"):
            easy.setopt(pycurl.POSTFIELDSIZE, len(body))
            easy.setopt(pycurl.POSTFIELDS, body)
            easy.setopt(pycurl.CUSTOMREQUEST, method)
        return _perform(easy, gate)
    finally:
        easy.close()


def _perform(easy: Any, gate: _Gate) -> Sent:
    try:
        easy.perform()
    except pycurl.error as problem:
        code, said = problem.args
        left = easy.getinfo(pycurl.REQUEST_SIZE) > 0
        if gate.refused:
            said = f"the address {gate.refused} may not be reached"
        return Sent(easy.getinfo(pycurl.RESPONSE_CODE), gate.body, said or f"transfer failed ({code})", left)
    return Sent(easy.getinfo(pycurl.RESPONSE_CODE), gate.body, "", True)


def _trust(ca_file: str) -> list[tuple[int, str]]:
    """The system's certificate store: the one that pycurl was built with may not exist on this machine."""
    if ca_file:
        return [(pycurl.CAINFO, ca_file)]
    found = ssl.get_default_verify_paths()
    if found.cafile and os.path.exists(found.cafile):
        return [(pycurl.CAINFO, found.cafile)]
    return [(pycurl.CAPATH, found.capath)] if found.capath else []
