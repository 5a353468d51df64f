"""How a probe of the server reaches the network: gevent's sockets, and what TLS trusts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gevent
import gevent.socket
from gevent import ssl

from opsapp.wire.probes import CertificateRefused, Outcome, ProbeTarget, connect

Resolve = Callable[[str, float], list[str]]  # (host, seconds) -> the addresses that may be reached


class TlsContexts:
    """gevent's class by name: `create_default_context` makes the standard one, which blocks the hub."""

    def __init__(self, ca_file: str):
        self.verifying = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if ca_file:
            self.verifying.load_verify_locations(ca_file)
        else:
            self.verifying.load_default_certs()
        self.reading = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # a certificate that may not be trusted
        self.reading.check_hostname = False
        self.reading.verify_mode = ssl.CERT_NONE


def _no_names(host: str, _timeout: float) -> list[str]:
    return [host]


class HubGate:
    """A `Gate` for one greenlet. One that only reaches addresses needs neither names nor TLS."""

    def __init__(
        self,
        timeout: float,
        monotonic: Callable[[], float] = time.monotonic,
        resolve: Resolve = _no_names,
        tls: TlsContexts | None = None,
    ):
        self._timeout, self._monotonic, self._resolve, self._tls = timeout, monotonic, resolve, tls
        self._started = monotonic()
        self._sockets: list[Any] = []

    def run(self, probe: Callable[[ProbeTarget, HubGate], Outcome], target: ProbeTarget) -> Outcome:
        """The probe within its time; its sockets end with it."""
        with gevent.Timeout(self._timeout, TimeoutError()):
            try:
                return probe(target, self)
            finally:
                self.clear()

    def clear(self) -> None:
        for sock in self._sockets:
            sock.close()

    def now(self) -> float:
        return time.time()

    def left(self) -> float:
        left = self._started + self._timeout - self._monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def elapsed(self) -> float:
        return round((self._monotonic() - self._started) * 1000, 2)

    def addresses(self, host: str) -> list[str]:
        return self._resolve(host, self.left())

    def open(self, address: str, kind: int, protocol: int = 0) -> Any:
        family = gevent.socket.AF_INET6 if ":" in address else gevent.socket.AF_INET
        sock = gevent.socket.socket(family, kind, protocol)
        self._sockets.append(sock)
        return sock

    def close(self, sock: Any) -> None:
        self._sockets.remove(sock)
        sock.close()

    def certificate(self, host: str, port: int, verify: bool) -> bytes:
        sock = connect(self, self.addresses(host), port)
        assert self._tls is not None
        context = self._tls.verifying if verify else self._tls.reading
        try:
            with context.wrap_socket(sock, server_hostname=host) as wrapped:
                return bytes(wrapped.getpeercert(binary_form=True))
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(f"certificate: {error.verify_message}") from None
