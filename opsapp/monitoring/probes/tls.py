"""tls: a handshake, verified against the trusted authorities and the host's name, and the days that are left.

The certificate is read first without verification, because OpenSSL shows a refused one to nobody; the verified
handshake is then the judgement.
"""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import gevent
from cryptography import x509
from gevent import ssl

from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget
from opsapp.monitoring.probes.tcp import connect


def checking_context(ca_file: str) -> ssl.SSLContext:
    """For judging. gevent's class by name: `create_default_context` makes the standard one, which blocks the hub."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca_file:
        context.load_verify_locations(ca_file)
    else:
        context.load_default_certs()
    return context


def looking_context() -> ssl.SSLContext:
    """For reading a certificate that may not be trusted."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def probe(prober, target: ProbeTarget) -> Outcome:
    parts = urlsplit(target.url)
    host, port = parts.hostname or "", parts.port or 443
    started = prober.monotonic()
    with gevent.Timeout(target.timeout, TimeoutError()):
        certificate = look(prober, host, port, target.timeout)
        elapsed = round((prober.monotonic() - started) * 1000, 2)
        days = days_left(certificate)
        if not target.verify_tls:
            return Outcome(days > 0, elapsed, f"certificate ends in {days:.1f} days", None, days)
        try:
            handshake(prober, prober.checking_tls, host, port)
        except ssl.SSLCertVerificationError as error:
            return Outcome(False, elapsed, f"certificate: {error.verify_message}", None, days)
    return Outcome(True, elapsed, f"certificate ends in {days:.1f} days", None, days)


def look(prober, host: str, port: int, timeout: float) -> x509.Certificate:
    """The certificate that the host shows, trusted or not."""
    with gevent.Timeout(timeout, TimeoutError()):
        return x509.load_der_x509_certificate(handshake(prober, prober.looking_tls, host, port))


def handshake(prober, context: ssl.SSLContext, host: str, port: int) -> bytes:
    """The server's certificate as DER after a whole handshake. The caller bounds the time."""
    sock = connect(prober.allowed_addresses(host, 10.0), port)
    try:
        with context.wrap_socket(sock, server_hostname=host) as wrapped:
            return wrapped.getpeercert(binary_form=True)
    finally:
        sock.close()


def days_left(certificate: x509.Certificate) -> float:
    return round((certificate.not_valid_after_utc.timestamp() - time.time()) / 86400, 2)
