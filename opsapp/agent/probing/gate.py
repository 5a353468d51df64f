"""How a probe reaches the network: names to allowed addresses, sockets that end with the probe's time."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any, List, Set

from opsapp.agent.transport import tls_context
from opsapp.wire.addresses import AddressPolicy
from opsapp.wire.probes import FAMILIES, CertificateRefused, ProbeFailed, connect, of_family


class SocketGate:
    """`end` may be called from another thread: what blocks on a socket then returns."""

    def __init__(self, timeout: float, policy: AddressPolicy, family: str = FAMILIES[0]):
        self.started = time.monotonic()
        self.timeout = timeout
        self._policy, self._family = policy, family
        self._lock = threading.Lock()
        self._sockets: Set[socket.socket] = set()
        self._ended = False

    def now(self) -> float:
        return time.time()

    def left(self) -> float:
        left = self.started + self.timeout - time.monotonic()
        if left <= 0 or self._ended:
            raise TimeoutError
        return left

    def elapsed(self) -> float:
        return round((time.monotonic() - self.started) * 1000, 2)

    def addresses(self, host: str) -> List[str]:
        try:
            answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise ProbeFailed(f"name {host}: {error.args[-1] if error.args else error}") from None
        every = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
        allowed = [address for address in every if self._policy.allows(address)]
        if not allowed:
            raise ProbeFailed(f"the address {', '.join(every)} may not be reached")
        return of_family(allowed, self._family)

    def open(self, address: str, kind: int, protocol: int = 0) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, kind, protocol)
        with self._lock:
            self._sockets.add(sock)
        sock.settimeout(self.left())
        return sock

    def certificate(self, host: str, port: int, verify: bool) -> bytes:
        return shown_certificate(self.secure(connect(self, self.addresses(host), port), host, verify=verify))

    def secure(self, sock: socket.socket, host: str, *, verify: bool) -> Any:
        import ssl

        context = tls_context()
        if not verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        sock.settimeout(self.left())
        try:
            wrapped = context.wrap_socket(sock, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            raise CertificateRefused(f"certificate: {error.verify_message}") from None
        with self._lock:  # TLS took the descriptor over
            self._sockets.discard(sock)
            self._sockets.add(wrapped)
        return wrapped

    def close(self, sock: socket.socket) -> None:
        with self._lock:
            self._sockets.discard(sock)
        sock.close()

    def end(self) -> None:
        """Time is up."""
        self._ended = True
        with self._lock:
            sockets = list(self._sockets)
        for sock in sockets:
            try:
                # Not TLS's own shutdown: it would take the object away under the thread that reads.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                continue  # not connected, or closed meanwhile

    def clear(self) -> None:
        """The probe's own thread, at its end."""
        with self._lock:
            sockets, self._sockets = list(self._sockets), set()
        for sock in sockets:
            sock.close()


def shown_certificate(wrapped: Any) -> bytes:
    der = wrapped.getpeercert(binary_form=True)
    if not der:
        raise ProbeFailed("no certificate was shown")
    return bytes(der)
