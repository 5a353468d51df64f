"""Handing syslog messages to a receiver by gevent's sockets. A stream has a connection for each batch: this side ends
it, and the receiver in turn once it has read all. That is the only receipt; a datagram has none."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import gevent.socket
from gevent import ssl

from opsapp.audit.logic.receivers import LOCAL, SyslogReceiver
from opsapp.audit.logic.syslog import frame
from opsapp.lib.networks import AddressPolicy

STREAM, DATAGRAM = gevent.socket.SOCK_STREAM, gevent.socket.SOCK_DGRAM


def deliver(receiver: SyslogReceiver, messages: list[bytes], policy: AddressPolicy, ca_file: str) -> None:
    """OSError where it is not certain that they have arrived. The caller limits the time, by a TimeoutError."""
    if receiver.scheme == LOCAL:
        with gevent.socket.socket(gevent.socket.AF_UNIX, DATAGRAM) as sock:
            sock.connect(receiver.path)
            _send_each(sock, messages)
    elif receiver.scheme == "syslog+udp":
        with _connected(receiver, DATAGRAM, policy) as sock:
            _send_each(sock, messages)
    else:
        framed = b"".join(map(frame, messages))
        with _connected(receiver, STREAM, policy) as sock:
            _stream(sock, framed) if receiver.scheme == "syslog+tcp" else _stream_tls(sock, receiver, framed, ca_file)


def _connected(receiver: SyslogReceiver, kind: int, policy: AddressPolicy) -> Any:
    problem = OSError("its address is in a network that monitoring.deny_networks names")
    for family, _, protocol, _, address in gevent.socket.getaddrinfo(receiver.host, receiver.port, type=kind):
        if not policy.allows(str(address[0])):
            continue
        sock = gevent.socket.socket(family, kind, protocol)
        try:
            sock.connect(address)
        except OSError as wrong:
            sock.close()
            problem = wrong
            if isinstance(wrong, TimeoutError):
                break
        else:
            return sock
    raise problem


def _send_each(sock: Any, messages: list[bytes]) -> None:
    for message in messages:
        sock.send(message)
    refused = sock.getsockopt(gevent.socket.SOL_SOCKET, gevent.socket.SO_ERROR)  # told after the last one was sent
    if refused:
        raise OSError(refused, os.strerror(refused))


def _stream(sock: Any, framed: bytes) -> None:
    sock.sendall(framed)
    sock.shutdown(gevent.socket.SHUT_WR)
    while sock.recv(4096):
        pass  # a receiver has nothing to say


def _stream_tls(plain: Any, receiver: SyslogReceiver, framed: bytes, ca_file: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca_file:
        context.load_verify_locations(ca_file)
    else:
        context.load_default_certs()
    with context.wrap_socket(plain, server_hostname=receiver.host) as sock:
        sock.sendall(framed)
        with contextlib.suppress(ssl.SSLEOFError):  # many receivers close without a word once they have read it all
            sock.unwrap()
