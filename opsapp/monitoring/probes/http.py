"""The types that are one web request: redirects are followed by ourselves, status and body are judged."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import gevent
import pycurl

from opsapp.monitoring.probes.names import AddressRefused, is_address
from opsapp.monitoring.probes.transfers import Hop, Reply
from opsapp.wire.monitortypes import TYPES
from opsapp.wire.probes import FAMILIES, Outcome, ProbeFailed, ProbeTarget, of_family
from opsapp.wire.version import VERSION
from opsapp.wire.webchecks import after_redirect, status_problem

_PORTS = {"http": 80, "https": 443}
# A URL that needs no work, which is nearly every one: parsing the others costs more than all else about a check.
_USUAL = re.compile(r"(https?)://([A-Za-z0-9][A-Za-z0-9.-]*)(?::(\d{1,5}))?(/[!\"$-~]*)?")
_HEADERS = {"User-Agent": f"opsapp/{VERSION}"}


def probe(prober: Any, target: ProbeTarget) -> Outcome:
    """Probe in a greenlet of its own."""
    return _follow(prober, target, _Way(prober.monotonic(), target))


def begin(prober: Any, target: ProbeTarget, done: Callable[[Outcome], None]) -> bool:
    """The usual check without a greenlet: the address is known, and the answer leads nowhere else. False: nothing has
    begun. `done(outcome)` is called from the hub's loop, or from a greenlet after all."""
    usual = _USUAL.fullmatch(target.url)
    if usual is None:
        return False
    scheme, host, port, _ = usual.groups()
    host = host.lower()
    literal = is_address(host)
    pinned: list[str] = [] if literal else prober.known_addresses(host)
    if not (prober.policy.allows(host) if literal else pinned) or target.ip_family != FAMILIES[0]:
        return False
    way = _Way(prober.monotonic(), target)
    hop = Hop(target.url, host, int(port) if port else _PORTS[scheme], pinned, target.timeout,
              way.method, way.headers, target.verify_tls, way.decode, way.body, literal)  # fmt: skip

    def ended(reply: Reply) -> None:
        if (reply.location and _leads_on(reply, target)) or reply.error == pycurl.E_PEER_FAILED_VERIFICATION:
            gevent.spawn(lambda: done(prober.guarded(target, lambda: _follow(prober, target, way, reply))))
        else:
            done(_outcome(prober, target, reply, way))

    prober.transfers.start(hop, ended)
    return True


def call(prober: Any, target: ProbeTarget) -> tuple[Reply, str]:
    """Make a call for what calls others (webhooks): the reply, and what is wrong with it. Names, addresses, redirects
    and bounds as of a check."""
    way = _Way(prober.monotonic(), target)
    way.decode = True
    try:
        reply = _travel(prober, target, way)
    except ProbeFailed as failed:
        return Reply(0, "", sent=way.hops > 0), str(failed)
    return reply, _problem(reply, target)


class _LeadsNowhere(ProbeFailed):
    """The text says why."""


class _Way:
    """How far a check has come: what its next request says, and how long the last name took. A body that is judged is
    decoded first."""

    __slots__ = ("body", "decode", "headers", "hops", "judge", "method", "spent", "started")

    def __init__(self, started: float, target: ProbeTarget):
        self.started, self.spent, self.hops = started, 0.0, 0
        self.judge = TYPES[target.type].body
        self.decode = self.judge is not None
        self.method, self.body = target.method, target.body
        self.headers = _HEADERS | target.headers if target.headers else _HEADERS
        if target.method in {"POST", "PUT", "PATCH"} and not target.body:  # servers want to be told
            self.headers = {"Content-Length": "0"} | self.headers

    def turn(self, reply: Reply, first: str, most: int) -> str:
        """Where a redirect leads; so many times at most."""
        if self.hops == most:
            raise _LeadsNowhere(f"more than {most} redirects")
        self.hops += 1
        self.method, self.headers, keeps_body = after_redirect(
            reply.status, self.method, self.headers, first, reply.location
        )
        if not keeps_body:
            self.body = b""
        return reply.location


def _follow(prober: Any, target: ProbeTarget, way: _Way, reply: Reply | None = None) -> Outcome:
    try:
        reply = _travel(prober, target, way, reply)
    except _LeadsNowhere as failed:
        return Outcome(False, round((prober.monotonic() - way.started) * 1000, 2), str(failed))
    return _outcome(prober, target, reply, way)


def _travel(prober: Any, target: ProbeTarget, way: _Way, reply: Reply | None = None) -> Reply:
    """Follows redirects from the first request, or from a reply, to the last one. Every hop is resolved and judged
    anew."""
    deadline = way.started + target.timeout
    reply = reply or _fetch(prober, target, way, target.url, deadline)
    most = prober.max_redirects if target.max_redirects is None else target.max_redirects
    while _leads_on(reply, target):
        reply = _fetch(prober, target, way, way.turn(reply, target.url, most), deadline)
    return reply


def _fetch(prober: Any, target: ProbeTarget, way: _Way, url: str, deadline: float) -> Reply:
    began = prober.monotonic()
    hop = _hop(prober, url, deadline - began, target.ip_family)
    named = prober.monotonic()
    way.spent = named - began
    hop.timeout = max(0.001, deadline - named)
    hop.method, hop.headers, hop.verify_tls, hop.decode = way.method, way.headers, target.verify_tls, way.decode
    hop.body = way.body
    return prober.transfers.fetch(hop)


def _outcome(prober: Any, target: ProbeTarget, reply: Reply, way: _Way) -> Outcome:
    elapsed = round((prober.monotonic() - way.started) * 1000, 2)
    problem = _problem(reply, target)
    days = _days_of(prober, target, reply) if reply.certificates or reply.error else None
    if not problem and way.judge is not None:
        problem = way.judge(target.own, reply.body, reply.cut)
    phases = reply.phases
    phases["name"], phases["total"] = way.spent * 1000, elapsed
    return Outcome(
        not problem, elapsed, problem or f"HTTP {reply.status}", phases, days, reply.protocol, reply.status or None
    )


def _leads_on(reply: Reply, target: ProbeTarget) -> bool:
    """A redirect that is itself what was expected is the end of the road."""
    redirects = bool(reply.location) and not reply.error
    return redirects and target.follow_redirects and reply.status != target.expected_status


def _hop(prober: Any, url: str, time_left: float, family: str) -> Hop:
    url, host, port = plain_url(url)
    if is_address(host):
        if not prober.policy.allows(host):
            raise AddressRefused(host)
        of_family([host], family)
        return Hop(url, host, port, [], time_left)
    return Hop(url, host, port, of_family(prober.allowed_addresses(host, max(0.001, time_left)), family), time_left)


def plain_url(url: str) -> tuple[str, str, int]:
    """The URL in ASCII as libcurl wants it, the host as it will look it up, the port."""
    usual = _USUAL.fullmatch(url)
    if usual:
        scheme, host, port, _ = usual.groups()
        return url, host.lower(), int(port) if port else _PORTS[scheme]
    return _plain_url(url)


def _plain_url(url: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _LeadsNowhere(f"bad URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise _LeadsNowhere("the redirect leads to an address that is not http or https")
    try:
        ascii_host = host if is_address(host) else host.encode("idna").decode()
    except UnicodeError:
        raise _LeadsNowhere("bad host name") from None
    bracketed = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
    userinfo = parts.netloc.rpartition("@")[0]
    netloc = (userinfo + "@" if userinfo else "") + bracketed + (f":{port}" if port is not None else "")
    # Not only non-ASCII: a blank or a control character would be a way to write into the request.
    path = "".join(c if "!" <= c <= "~" else "".join(f"%{b:02X}" for b in c.encode()) for c in parts.path or "/")
    query = "".join(c if "!" <= c <= "~" else "".join(f"%{b:02X}" for b in c.encode()) for c in parts.query)
    plain = urlunsplit((parts.scheme, netloc, path, query, ""))
    return plain, ascii_host, port if port is not None else _PORTS[parts.scheme]


def _problem(reply: Reply, target: ProbeTarget) -> str:
    if reply.refused:
        return f"the address {reply.refused} may not be reached"
    if reply.error == pycurl.E_OPERATION_TIMEDOUT:
        return f"no complete answer within {target.timeout:g} s"
    if reply.error:
        return reply.message or f"transfer failed ({reply.error})"
    return status_problem(reply.status, target.expected_status, target.accepted_statuses)


def _days_left(reply: Reply) -> float | None:
    for name, value in reply.certificates[0]:
        if name == "Expire date":
            return round((ssl.cert_time_to_seconds(value) - time.time()) / 86400, 2)
    return None


def _days_of(prober: Any, target: ProbeTarget, reply: Reply) -> float | None:
    """libcurl shows no certificate that it refused; people then ask when it expired."""
    if reply.certificates:
        return _days_left(reply)
    if reply.error != pycurl.E_PEER_FAILED_VERIFICATION:
        return None
    return prober.certificate_days(target)
