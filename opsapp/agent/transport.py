"""Connections to the server: one HTTP request over h11, and the socket that a WebSocket session then owns.

Must not: retry, keep state, know messages.
"""

from __future__ import annotations

import socket
from typing import Any, List, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

import h11

from opsapp.wire.version import VERSION

CONNECT_S = 10.0
ANSWER_S = 30.0
ANSWER_MOST = 4 * 2**20


class TransportError(OSError):
    """The server cannot be reached, or what answered does not speak HTTP."""


class Address(NamedTuple):
    host: str
    port: int
    tls: bool
    prefix: str  # path of the base URL, without a slash at its end
    ca_file: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class HttpAnswer(NamedTuple):
    status: int
    headers: List[Tuple[bytes, bytes]]
    body: bytes

    def retry_after(self) -> Optional[float]:
        for name, value in self.headers:
            if name == b"retry-after" and value.isdigit():
                return min(float(value), 3600.0)
        return None


def parse_url(url: str, ca_file: str = "") -> Address:
    parts = urlsplit(url)
    tls = parts.scheme == "https"
    return Address(parts.hostname or "", parts.port or (443 if tls else 80), tls, parts.path.rstrip("/"), ca_file)


def connect(address: Address) -> Any:
    """Connect, with TLS and its certificate checked when the URL says https."""
    try:
        sock = socket.create_connection((address.host, address.port), CONNECT_S)
    except OSError as error:
        raise TransportError(f"cannot connect to {address.authority}: {error}") from None
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not address.tls:
        return sock
    try:
        return tls_context(address.ca_file).wrap_socket(sock, server_hostname=address.host)
    except (OSError, ValueError) as error:
        sock.close()
        raise TransportError(f"no TLS with {address.authority}: {error}") from None


def tls_context(ca_file: str = "") -> Any:
    """A TLS context that is the same on every Python, and as browsers and curl judge. From 3.13 on Python also refuses
    certificates without what RFC 5280 asks for and many an authority of a house does not write."""
    import ssl  # 4 MB that an agent on a plain connection does not need

    context = ssl.create_default_context(cafile=ca_file or None)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def request(
    address: Address,
    method: str,
    path: str,
    key: str,
    *,
    body: bytes = b"",
    most: int = ANSWER_MOST,
    patience: float = ANSWER_S,
) -> Tuple[HttpAnswer, str]:
    """Send a request on a connection of its own; the answer and the local address it went out from."""
    sock = connect(address)
    try:
        sock.settimeout(patience)
        connection = h11.Connection(h11.CLIENT)
        headers = [
            ("Host", address.authority),
            ("User-Agent", f"opsapp-agent/{VERSION}"),
            ("X-Agent-Key", key),
            ("Accept", "application/json"),
            ("Connection", "close"),
        ]
        if body:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        sent = connection.send(h11.Request(method=method, target=address.prefix + path, headers=headers)) or b""
        if body:
            sent += connection.send(h11.Data(data=body)) or b""
        sock.sendall(sent + (connection.send(h11.EndOfMessage()) or b""))
        return _read(sock, connection, most), sock.getsockname()[0]
    except (OSError, h11.ProtocolError) as error:
        raise TransportError(f"no answer from {address.authority}: {error or type(error).__name__}") from None
    finally:
        sock.close()


def _read(sock: Any, connection: h11.Connection, most: int) -> HttpAnswer:
    status, headers, parts, size = 0, [], [], 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(sock.recv(65536))
        elif isinstance(event, h11.Response):
            status, headers = event.status_code, list(event.headers)
        elif isinstance(event, h11.Data):
            size += len(event.data)
            if size > most:
                raise TransportError("the answer is too large")
            parts.append(bytes(event.data))
        elif isinstance(event, (h11.EndOfMessage, h11.ConnectionClosed)):
            return HttpAnswer(status, headers, b"".join(parts))
