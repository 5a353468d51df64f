"""The mail server's address: `smtps://user:password@mail.example.org`, `smtp+starttls://…` or, without a password,
`smtp://…`."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


class MailServer(NamedTuple):
    scheme: str
    host: str
    port: int
    user: str
    password: str


def mail_server(url: str) -> MailServer:
    """ValueError, which does not repeat the address, for what is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(_LIKE) from None
    visible = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/") or parts.query or not visible:
        raise ValueError(_LIKE)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if password and parts.scheme == "smtp":
        raise ValueError("a password needs smtps:// or smtp+starttls://")
    return MailServer(parts.scheme, parts.hostname, port or PORTS[parts.scheme], user, password)


def server_problem(url: str) -> str | None:
    try:
        mail_server(url)
    except ValueError as wrong:
        return str(wrong)
    return None


_LIKE = "must be like smtps://user:password@mail.example.org"
