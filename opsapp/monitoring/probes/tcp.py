"""tcp: a connection that is accepted within the time. Nothing is sent."""

from __future__ import annotations

from urllib.parse import urlsplit

import gevent
import gevent.socket

from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget


def probe(prober, target: ProbeTarget) -> Outcome:
    parts = urlsplit(target.url)
    started = prober.monotonic()
    with gevent.Timeout(target.timeout, TimeoutError()):
        addresses = prober.allowed_addresses(parts.hostname, target.timeout)
        named = prober.monotonic()
        connect(addresses, parts.port or 0).close()
    done = prober.monotonic()
    phases = {"name": round((named - started) * 1000, 2), "connect": round((done - named) * 1000, 2)}
    return Outcome(True, round((done - started) * 1000, 2), "connected", phases)


def connect(addresses: list[str], port: int):
    """A socket to the first address that answers; the last error when none does. The caller bounds the time."""
    last: OSError = OSError("no address")
    for address in addresses:
        family = gevent.socket.AF_INET6 if ":" in address else gevent.socket.AF_INET
        sock = gevent.socket.socket(family, gevent.socket.SOCK_STREAM)
        try:
            sock.connect((address, port))
            return sock
        except OSError as error:
            sock.close()
            last = error
        except BaseException:
            sock.close()
            raise
    raise last
