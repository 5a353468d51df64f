"""http, keyword and json: one request, redirects followed by ourselves, judged by its status and its body."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Tuple
from urllib.parse import quote, urljoin, urlsplit

from opsapp.wire.monitortypes import TYPES
from opsapp.wire.probes import CertificateRefused, Outcome, ProbeFailed, ProbeTarget, connect, days_left
from opsapp.wire.version import VERSION
from opsapp.wire.webchecks import after_redirect, status_problem

from .gate import SocketGate, shown_certificate

if TYPE_CHECKING:
    from http.client import HTTPResponse

MAX_REDIRECTS = 5
BODY_CAP = 256 * 1024
PORTS = {"http": 80, "https": 443}
REDIRECTS = {301, 302, 303, 307, 308}
PLAIN = "/?&=%:@!$'()*+,;~[]-._"


class LastAnswer(NamedTuple):
    """`cut`: its body is longer than what was read."""

    status: int
    location: str
    body: bytes
    cut: bool
    protocol: str


class WebCheck:
    """One check on its way from redirect to redirect."""

    def __init__(self, target: ProbeTarget, gate: SocketGate):
        self.target, self.gate = target, gate
        self.method, self.body = target.method, target.body
        self.headers = {"User-Agent": f"opsapp-agent/{VERSION}", "Accept-Encoding": "identity", **target.headers}
        self.phases: Dict[str, float] = {}
        self.days: Optional[float] = None

    def run(self) -> LastAnswer:
        url = self.target.url
        most = MAX_REDIRECTS if self.target.max_redirects is None else self.target.max_redirects
        for _ in range(most + 1):
            reply = self._ask(url)
            expected = reply.status == self.target.expected_status
            if not reply.location or not self.target.follow_redirects or expected:
                return reply
            url = urljoin(url, reply.location)
            self.method, self.headers, keeps_body = after_redirect(
                reply.status, self.method, self.headers, self.target.url, url
            )
            self.body = self.body if keeps_body else b""
        raise ProbeFailed(f"more than {most} redirects")

    def _ask(self, url: str) -> LastAnswer:
        from http.client import HTTPConnection  # 3 MB that an agent without web checks does not need

        scheme, host, port, path = plain(url)
        began = self.gate.elapsed()
        addresses = self.gate.addresses(host)
        named = self.gate.elapsed()
        sock = connect(self.gate, addresses, port)
        self.phases = {"name": round(named - began, 2), "connect": round(self.gate.elapsed() - named, 2)}
        if scheme == "https":
            sock = self._secured(sock, host, port)
        sent = self.gate.elapsed()
        connection = HTTPConnection(host, port)
        connection.default_port = PORTS[scheme]
        connection.sock = sock
        sock.settimeout(self.gate.left())
        connection.request(self.method, path, self.body or None, self.headers)
        answer = connection.getresponse()
        self.phases["first_byte"] = round(self.gate.elapsed() - sent, 2)
        body = self._body(answer)
        location = answer.getheader("Location", "") if answer.status in REDIRECTS else ""
        protocol = "HTTP/1.0" if answer.version == 10 else "HTTP/1.1"
        answer.close()
        self.gate.close(sock)
        return LastAnswer(answer.status, location, body[:BODY_CAP], len(body) > BODY_CAP, protocol)

    def _secured(self, sock: Any, host: str, port: int) -> Any:
        began = self.gate.elapsed()
        try:
            wrapped = self.gate.secure(sock, host, verify=self.target.verify_tls)
        except CertificateRefused:
            self.days = days_left(self.gate.certificate(host, port, False), self.gate.now())
            raise
        self.phases["tls"] = round(self.gate.elapsed() - began, 2)
        self.days = days_left(shown_certificate(wrapped), self.gate.now())
        return wrapped

    def _body(self, answer: HTTPResponse) -> bytes:
        """All of it, or its first 256 KiB and one byte that says that there is more."""
        pieces, size = [], 0
        while size <= BODY_CAP:
            self.gate.left()
            piece = answer.read1(min(65536, BODY_CAP + 1 - size))
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        body = b"".join(pieces)
        if answer.getheader("Content-Encoding", "") in ("gzip", "deflate"):  # it was not asked for, and some send it
            try:
                body = zlib.decompressobj(47).decompress(body, BODY_CAP + 1)
            except zlib.error:
                raise ProbeFailed("the body is not compressed as its Content-Encoding says") from None
        return body


def plain(url: str) -> Tuple[str, str, int, str]:
    """(scheme, host, port, path with its query) in ASCII."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ProbeFailed(f"bad URL: {error}") from None
    if parts.scheme not in PORTS or not host:
        raise ProbeFailed("the redirect leads to an address that is not http or https")
    try:
        host = host if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        raise ProbeFailed("bad host name") from None
    path = quote(parts.path or "/", safe=PLAIN) + ("?" + quote(parts.query, safe=PLAIN) if parts.query else "")
    return parts.scheme, host, port or PORTS[parts.scheme], path


def probe(target: ProbeTarget, gate: SocketGate) -> Outcome:
    from http.client import HTTPException

    check = WebCheck(target, gate)
    try:
        reply = check.run()
    except ProbeFailed as failed:
        return Outcome(False, gate.elapsed(), str(failed), certificate_days=check.days)
    except HTTPException as error:
        return Outcome(False, gate.elapsed(), f"no HTTP: {error or type(error).__name__}")
    took, judge = gate.elapsed(), TYPES[target.type].body
    problem = status_problem(reply.status, target.expected_status, target.accepted_statuses)
    if not problem and judge is not None:
        problem = judge(target.own, reply.body, reply.cut)
    detail = problem or f"HTTP {reply.status}"
    phases = {**check.phases, "total": took}
    return Outcome(not problem, took, detail, phases, check.days, reply.protocol, reply.status)
