"""How a probe reaches the network: names to allowed addresses, sockets that end with the probe's time."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any, Dict, List, Optional, Set

from opsapp.wire.addresses import AddressPolicy


class Failed(Exception):
    """The target is not as it should be; the text says why."""


class Unavailable(Exception):
    """This host cannot look at such a target."""


class Gate:
    """One probe's way out. `end` may be called from another thread: what blocks on a socket then comes back."""

    def __init__(self, target: Dict[str, Any]):
        self.started = time.monotonic()
        self.timeout: float = target["timeout"]
        self._policy = AddressPolicy(target["allow"], target["deny"])
        self._lock = threading.Lock()
        self._sockets: Set[socket.socket] = set()
        self._ended = False

    def left(self) -> float:
        """Seconds; TimeoutError when there are none."""
        left = self.started + self.timeout - time.monotonic()
        if left <= 0 or self._ended:
            raise TimeoutError
        return left

    def elapsed(self) -> float:
        return milliseconds(time.monotonic() - self.started)

    def addresses(self, host: str) -> List[str]:
        """Those of the host that may be reached."""
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError) as error:
            raise Failed(f"name {host}: {error.args[-1] if error.args else error}") from None
        every = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        allowed = [address for address in every if self._policy.allows(address)]
        if not allowed:
            raise Failed(f"the address {', '.join(every)} may not be reached")
        return allowed

    def open(self, address: str, kind: int, protocol: int = 0) -> socket.socket:
        """A socket that ends with the probe."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, kind, protocol)
        with self._lock:
            self._sockets.add(sock)
        sock.settimeout(self.left())
        return sock

    def connect(self, addresses: List[str], port: int) -> socket.socket:
        """To the first address that answers; the last error when none does."""
        last: Optional[OSError] = None
        for address in addresses:
            sock = self.open(address, socket.SOCK_STREAM)
            try:
                sock.connect((address, port))
                return sock
            except socket.timeout:
                raise TimeoutError from None
            except OSError as error:
                self.close(sock)
                last = error
        raise last or OSError("no address")

    def adopt(self, wrapped: socket.socket, sock: socket.socket) -> None:
        """TLS took the descriptor over."""
        with self._lock:
            self._sockets.discard(sock)
            self._sockets.add(wrapped)

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


def milliseconds(seconds: float) -> float:
    return round(max(0.0, seconds) * 1000, 2)


def outcome(ok: Optional[bool], took: Optional[float], detail: str, **more: Any) -> Dict[str, Any]:
    """Targets have a say in the detail: only what can be printed goes into the message, which would be refused else."""
    plain = "".join(char if char.isprintable() else " " for char in detail[:500]).strip()
    return {"ok": ok, "response_time_ms": took, "detail": plain, **more}
