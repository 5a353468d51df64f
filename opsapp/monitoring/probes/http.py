"""http: one request (redirects followed by ourselves), judged by its status.

Also the ground of `keyword` and `json`, which judge the body as well.
"""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

import gevent
import pycurl

from opsapp.monitoring.probes.names import NameFailed, is_address
from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget, Refused
from opsapp.monitoring.probes.transfers import Hop, Reply
from opsapp.wire.version import VERSION

_PORTS = {"http": 80, "https": 443}
# A URL that needs no work, which is nearly every one: parsing the others costs more than all else about a check.
_USUAL = re.compile(r"(https?)://([A-Za-z0-9][A-Za-z0-9.-]*)(?::(\d{1,5}))?(/[!\"$-~]*)?")
USER_AGENT = f"opsapp/{VERSION}"
# Sent to the host they were written for and to no other.
_PRIVATE_HEADERS = {"authorization", "cookie", "proxy-authorization", "host"}
_BODY_HEADERS = {"content-length", "content-type", "transfer-encoding"}


_HEADERS = {"User-Agent": USER_AGENT}
Judge = Callable[[ProbeTarget, Reply], str]  # what is wrong with the body, or nothing; asked when the status is right


def probe(prober, target: ProbeTarget) -> Outcome:
    return measure(prober, target)


def measure(prober, target: ProbeTarget, judge: Judge | None = None) -> Outcome:
    """The whole check, in a greenlet of its own. A body that is judged is decoded first."""
    return _follow(prober, target, judge, _Way(prober.monotonic(), target, judge is not None))


def begin(prober, target: ProbeTarget, done: Callable[[Outcome], None], judge: Judge | None = None) -> bool:
    """The usual check without a greenlet: its name is an address or known, its answer leads nowhere else. False where
    that cannot be: nothing has begun. `done(outcome)` is called from the hub's loop, or from a greenlet after all."""
    usual = _USUAL.fullmatch(target.url)
    if usual is None:
        return False
    scheme, host, port, _ = usual.groups()
    host = host.lower()
    addresses = prober.known_addresses(host)
    if addresses is None:
        return False
    way = _Way(prober.monotonic(), target, judge is not None)
    pinned = [] if is_address(host) else addresses
    hop = Hop(target.url, host, int(port) if port else _PORTS[scheme], pinned, target.timeout,
              way.method, way.headers, target.verify_tls, way.decode)  # fmt: skip

    def ended(reply: Reply) -> None:
        if _leads_on(reply, target) or reply.error == pycurl.E_PEER_FAILED_VERIFICATION:
            gevent.spawn(lambda: done(prober.guarded(target, lambda: _follow(prober, target, judge, way, reply))))
        else:
            done(_outcome(prober, target, reply, judge, way))

    prober.transfers.start(hop, ended)
    return True


def call(prober, target: ProbeTarget) -> tuple[Reply, str]:
    """The reply to one request with a body, and what is wrong with it, or nothing: for what calls others (webhooks).
    The same names, addresses, redirects and bounds as a check has."""
    way = _Way(prober.monotonic(), target, decode=True)
    try:
        reply = _travel(prober, target, way)
    except (NameFailed, _Wrong) as failed:
        return Reply(0, "", sent=way.hops > 0), str(failed)
    except Refused as refused:
        return Reply(0, "", sent=way.hops > 0), f"the address {refused} may not be reached"
    return reply, _problem(reply, target)


class _Wrong(Exception):
    """The redirects lead nowhere; the text says why."""


class _Way:
    """How far a check has come: what its next request says, and what the last name cost."""

    __slots__ = ("body", "decode", "headers", "hops", "method", "spent", "started")

    def __init__(self, started: float, target: ProbeTarget, decode: bool):
        self.started, self.spent, self.hops, self.decode = started, 0.0, 0, decode
        self.method, self.body = target.method, target.body
        self.headers = _HEADERS | target.headers if target.headers else _HEADERS
        if target.method in {"POST", "PUT", "PATCH"} and not target.body:  # servers want to be told
            self.headers = {"Content-Length": "0"} | self.headers

    def turn(self, reply: Reply, first: str, most: int) -> str:
        """Where a redirect leads; so many times at most."""
        if self.hops == most:
            raise _Wrong(f"more than {most} redirects")
        self.hops += 1
        if urlsplit(reply.location).hostname != urlsplit(first).hostname:
            self._leave_out(_PRIVATE_HEADERS)
        if reply.status == 303 or (reply.status in {301, 302} and self.method == "POST"):
            self.method = "HEAD" if self.method == "HEAD" else "GET"
            self._leave_out(_BODY_HEADERS)
            self.body = b""
        return reply.location

    def _leave_out(self, names: set[str]) -> None:
        self.headers = {name: value for name, value in self.headers.items() if name.lower() not in names}


def _follow(prober, target: ProbeTarget, judge: Judge | None, way: _Way, reply: Reply | None = None) -> Outcome:
    try:
        reply = _travel(prober, target, way, reply)
    except NameFailed as failed:
        return Outcome(False, None, str(failed))
    except _Wrong as wrong:
        return Outcome(False, _milliseconds(prober.monotonic() - way.started), str(wrong))
    return _outcome(prober, target, reply, judge, way)


def _travel(prober, target: ProbeTarget, way: _Way, reply: Reply | None = None) -> Reply:
    """From the first request, or from a reply, to the last one. Every hop is resolved and judged anew."""
    deadline = way.started + target.timeout
    reply = reply or _fetch(prober, target, way, target.url, deadline)
    while _leads_on(reply, target):
        reply = _fetch(prober, target, way, way.turn(reply, target.url, prober.max_redirects), deadline)
    return reply


def _fetch(prober, target: ProbeTarget, way: _Way, url: str, deadline: float) -> Reply:
    began = prober.monotonic()
    hop = _hop(prober, url, deadline - began)
    named = prober.monotonic()
    way.spent = named - began
    hop.timeout = max(0.001, deadline - named)
    hop.method, hop.headers, hop.verify_tls, hop.decode = way.method, way.headers, target.verify_tls, way.decode
    hop.body = way.body
    return prober.transfers.fetch(hop)


def _outcome(prober, target: ProbeTarget, reply: Reply, judge: Judge | None, way: _Way) -> Outcome:
    elapsed = _milliseconds(prober.monotonic() - way.started)
    problem = _problem(reply, target) or (judge(target, reply) if judge is not None else "")
    phases = reply.phases
    phases["name"], phases["total"] = way.spent * 1000, elapsed
    return Outcome(
        not problem,
        elapsed,
        problem or f"HTTP {reply.status}",
        phases,
        _days_left(reply) if reply.certificates else _days_by_looking(prober, target, reply),
        reply.protocol,
        reply.status or None,
    )


def _leads_on(reply: Reply, target: ProbeTarget) -> bool:
    """A redirect that is itself what was expected is the end of the road."""
    redirects = bool(reply.location) and not reply.error
    return redirects and target.follow_redirects and reply.status != target.expected_status


def _hop(prober, url: str, time_left: float) -> Hop:
    url, host, port = plain_url(url)
    if is_address(host):
        if not prober.policy.allows(host):
            raise Refused(host)
        return Hop(url, host, port, [], time_left)
    return Hop(url, host, port, prober.allowed_addresses(host, max(0.001, time_left)), time_left)


def plain_url(url: str) -> tuple[str, str, int]:
    """The URL in ASCII as libcurl wants it, its host as it will look it up, its port."""
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
        raise _Wrong(f"bad URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise _Wrong("leads to something that is not http")
    try:
        ascii_host = host if is_address(host) else host.encode("idna").decode()
    except UnicodeError:
        raise _Wrong("bad host name") from None
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
    if target.expected_status is not None:
        wanted = target.expected_status
        return "" if reply.status == wanted else f"HTTP {reply.status}, expected {wanted}"
    return "" if 200 <= reply.status < 400 else f"HTTP {reply.status}"


def _days_left(reply: Reply) -> float | None:
    for name, value in reply.certificates[0]:
        if name == "Expire date":
            return round((ssl.cert_time_to_seconds(value) - time.time()) / 86400, 2)
    return None


def _days_by_looking(prober, target: ProbeTarget, reply: Reply) -> float | None:
    """libcurl shows no certificate that it refused; why it expired or when is what people then ask."""
    if reply.error != pycurl.E_PEER_FAILED_VERIFICATION:
        return None
    return prober.certificate_days(target)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 2)
