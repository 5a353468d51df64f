"""Where the certificates of a cluster are. Must not: read one: a node without them loads no library for it (1.4 MB)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from opsapp.runtime.store.settings import Settings

AUTHORITY, STORE = "ca", "store"
CA, CERT, KEY = "ca.pem", "cert.pem", "key.pem"


def directory_of(settings: Settings) -> Path | None:
    """This node's certificates: `opsapp.tls`, or as the store's address says."""
    tls_directory = settings.get("opsapp.tls")
    if not tls_directory:
        for name in ("zodbconn.uri", "zodbconn.uri.history"):
            tls_directory = tls_directory or parse_qs(urlsplit(settings.get(name, "")).query).get("tls", [""])[0]
    return Path(tls_directory) if tls_directory else None
