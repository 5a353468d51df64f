"""Encrypted ways between members of a cluster: to the store by ZEO (`zeos://`), and from node to node (`https://`).

Each side shows its certificate, and accepts those of the cluster's authority alone. Must not: make certificates.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .certificateplaces import CA, CERT, KEY

PORT = 9991  # zodburi's
ASK_S = 5.0


def client_context(directory: Path | None, kind: Any = ssl.SSLContext) -> Any:
    """A context for who connects; without a directory, as the machine trusts. `kind`: gevent's, where a greenlet uses
    it. A renewed certificate counts from the next call on."""
    try:
        stamp = (directory / CERT).stat().st_mtime_ns if directory is not None else 0
    except OSError as problem:
        raise ValueError(f"the certificates in {directory} cannot be used: {problem.strerror}") from None
    return _context(directory, kind, stamp)


@lru_cache(maxsize=8)
def _context(directory: Path | None, kind: Any, _stamp: int) -> Any:
    context = kind(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if directory is None:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(str(directory / CA))
        context.load_cert_chain(str(directory / CERT), str(directory / KEY))
    except (OSError, ssl.SSLError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise ValueError(f"the certificates in {directory} cannot be used: {reason}") from None
    return context


def resolve(uri: str) -> tuple[Callable[[], Any], dict[str, Any]]:
    """zodburi's resolver of zeos://HOST:PORT?tls=DIRECTORY; the other options are those of zeo://."""
    from ZEO.ClientStorage import ClientStorage  # asyncio with it: a node without such a store does without them
    from zodburi.resolvers import ClientStorageURIResolver

    where = urlsplit(uri)
    options = dict(parse_qsl(where.query))
    directory = options.pop("tls", "")
    if not directory or not where.hostname:
        raise ValueError("a store's address with zeos:// names a host and the certificates: ?tls=DIRECTORY")
    given, database = ClientStorageURIResolver().interpret_kwargs(options)
    address = where.hostname, where.port or PORT

    def factory() -> Any:
        context = client_context(Path(directory))
        return ClientStorage(address, ssl=context, ssl_server_hostname=address[0], **given)

    return factory, database


def end_of_server(host: str, port: int, directory: Path) -> datetime:
    """When a server's certificate ends; OSError where it shows none of the cluster's authority."""
    context = client_context(directory)
    with (
        socket.create_connection((host, port), ASK_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as encrypted,
    ):
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(encrypted.getpeercert()["notAfter"]), timezone.utc)
