"""The address of a receiver of audit entries. Pure.

https://HOST/PATH              http:// too; JSON lines
syslog+tls://HOST:PORT         syslog+tcp:// and syslog+udp:// too
unix:///dev/log                a local socket
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from opsapp.wire.urls import is_host, text_problem, web_problem

PORTS = {"syslog+udp": 514, "syslog+tcp": 601, "syslog+tls": 6514}  # those that RFC 5426, 6587 and 5425 name
WEB, LOCAL = ("http", "https"), "unix"
FORMS = "must begin with https://, http://, syslog+tls://, syslog+tcp://, syslog+udp:// or unix:///"


class SyslogReceiver(NamedTuple):
    """`path` is that of a local socket."""

    scheme: str
    host: str
    port: int
    path: str


def is_web(url: str) -> bool:
    return url.partition("://")[0].lower() in WEB


def syslog_receiver(url: str) -> SyslogReceiver:
    parts = urlsplit(url)
    return SyslogReceiver(parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0), parts.path)


def receiver_problem(url: str) -> str | None:
    if is_web(url):
        return web_problem(url, credentials=False)
    try:
        parts, receiver = urlsplit(url), syslog_receiver(url)
    except ValueError:
        return "is not a URL"
    if receiver.scheme != LOCAL and receiver.scheme not in PORTS:
        return FORMS
    if receiver.scheme == LOCAL:
        return None if url == f"unix://{receiver.path}" and len(receiver.path) > 1 else "must be like unix:///dev/log"
    if "@" in parts.netloc or parts.query or parts.fragment or receiver.path not in ("", "/"):
        return "must be a host and a port, and nothing else"
    return text_problem(url) or (None if is_host(receiver.host) else "names no host")
