"""Whether a text is an address of the web that can be called at all.

Must not: resolve a name, or judge where an address leads (addresses.py).
"""

from __future__ import annotations

import ipaddress
import re
from typing import Optional
from urllib.parse import urlsplit

_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_INVISIBLE = ("\u200b", "\u2060", "\ufeff")  # IDNA drops them: the host would not be the one that is read


def text_problem(url: str) -> Optional[str]:
    """Characters that no address has."""
    if any(char.isspace() or not char.isprintable() or char in _INVISIBLE for char in url):
        return "must not hold blanks or control characters"
    return None


def is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return is_name(host)
    return True


def is_name(name: str) -> bool:
    """Whether it is a name of the DNS, in any language."""
    try:
        return bool(_HOST.fullmatch(name.encode("idna").decode()))
    except UnicodeError:
        return False


def is_loopback(host: str) -> bool:
    """Whether the host is loopback by its very name: nobody else can listen in between."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"


def is_plain_abroad(url: str) -> bool:
    """Whether anybody on the way can read what is sent there."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")


def web_problem(url: str, credentials: bool = True) -> Optional[str]:
    wrong = text_problem(url)
    if wrong:
        return wrong
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if not host or not is_host(host):
        return "names no host"
    if port == 0:
        return "names no port: 0 is none"
    if "@" in parts.netloc and not credentials:
        return "must not hold credentials"
    return None
