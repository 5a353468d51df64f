"""http, keyword and json: one request, redirects followed by ourselves, judged by its status and its body."""

from __future__ import annotations

import http.client
import json
import zlib
from typing import Any, Dict, Optional, Tuple
from urllib.parse import quote, urljoin, urlsplit

from opsapp.wire.jsonpath import PathMissing, read_path, same_value, shown
from opsapp.wire.version import VERSION

from .gate import Failed, Gate, outcome
from .plain import days_left, look, secure

MAX_REDIRECTS = 5
BODY_CAP = 256 * 1024
PORTS = {"http": 80, "https": 443}
# Sent to the host they were written for and to no other.
PRIVATE = {"authorization", "cookie", "proxy-authorization", "host"}
BODY = {"content-length", "content-type", "transfer-encoding"}
REDIRECTS = {301, 302, 303, 307, 308}
PLAIN = "/?&=%:@!$'()*+,;~[]-._"


class Reply:
    """The last answer."""

    def __init__(self, status: int, location: str, body: bytes, protocol: str):
        self.status, self.location, self.body, self.protocol = status, location, body, protocol


class Look:
    """One check on its way from hop to hop."""

    def __init__(self, target: Dict[str, Any], gate: Gate):
        self.target, self.gate = target, gate
        self.method: str = target["method"]
        self.headers = {"User-Agent": f"opsapp-agent/{VERSION}", "Accept-Encoding": "identity", **target["headers"]}
        self.phases: Dict[str, float] = {}
        self.days: Optional[float] = None

    def run(self) -> Reply:
        url, first = self.target["url"], urlsplit(self.target["url"]).hostname
        for _ in range(MAX_REDIRECTS + 1):
            reply = self._ask(url)
            wanted = reply.status == self.target["expected_status"]
            if not reply.location or not self.target["follow_redirects"] or wanted:
                return reply
            url = urljoin(url, reply.location)
            if urlsplit(url).hostname != first:
                self._leave_out(PRIVATE)
            if reply.status == 303 or (reply.status in (301, 302) and self.method == "POST"):
                self.method = "HEAD" if self.method == "HEAD" else "GET"
                self._leave_out(BODY)
        raise Failed(f"more than {MAX_REDIRECTS} redirects")

    def _leave_out(self, names: set) -> None:
        self.headers = {name: value for name, value in self.headers.items() if name.lower() not in names}

    def _ask(self, url: str) -> Reply:
        scheme, host, port, path = plain(url)
        began = self.gate.elapsed()
        addresses = self.gate.addresses(host)
        named = self.gate.elapsed()
        sock = self.gate.connect(addresses, port)
        self.phases = {"name": round(named - began, 2), "connect": round(self.gate.elapsed() - named, 2)}
        if scheme == "https":
            sock = self._secured(sock, host, port)
        sent = self.gate.elapsed()
        connection = http.client.HTTPConnection(host, port)
        connection.default_port = PORTS[scheme]
        connection.sock = sock
        sock.settimeout(self.gate.left())
        connection.request(self.method, path, headers=self.headers)
        answer = connection.getresponse()
        self.phases["first_byte"] = round(self.gate.elapsed() - sent, 2)
        body = self._body(answer)
        location = answer.getheader("Location", "") if answer.status in REDIRECTS else ""
        protocol = "HTTP/1.0" if answer.version == 10 else "HTTP/1.1"
        answer.close()
        self.gate.close(sock)
        return Reply(answer.status, location, body, protocol)

    def _secured(self, sock: Any, host: str, port: int) -> Any:
        import ssl

        began = self.gate.elapsed()
        try:
            wrapped = secure(self.gate, sock, host, verify=self.target["verify_tls"])
        except ssl.SSLCertVerificationError as error:
            self.days = look(self.gate, host, port)
            raise Failed(f"certificate: {error.verify_message}") from None
        self.phases["tls"] = round(self.gate.elapsed() - began, 2)
        self.days = days_left(wrapped)
        return wrapped

    def _body(self, answer: http.client.HTTPResponse) -> bytes:
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
                raise Failed("the body is not packed as it says") from None
        return body


def plain(url: str) -> Tuple[str, str, int, str]:
    """(scheme, host, port, path with its query) in ASCII."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise Failed(f"bad URL: {error}") from None
    if parts.scheme not in PORTS or not host:
        raise Failed("leads to something that is not http")
    try:
        host = host if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        raise Failed("bad host name") from None
    path = quote(parts.path or "/", safe=PLAIN) + ("?" + quote(parts.query, safe=PLAIN) if parts.query else "")
    return parts.scheme, host, port or PORTS[parts.scheme], path


def probe(target: Dict[str, Any], gate: Gate) -> Dict[str, Any]:
    look_at = Look(target, gate)
    try:
        reply = look_at.run()
    except Failed as failed:
        return outcome(False, gate.elapsed(), str(failed), certificate_days=look_at.days)
    except http.client.HTTPException as error:
        return outcome(False, gate.elapsed(), f"no HTTP: {error or type(error).__name__}")
    took = gate.elapsed()
    wrong = status_problem(reply.status, target["expected_status"]) or body_problem(target, reply.body)
    return outcome(
        not wrong,
        took,
        wrong or f"HTTP {reply.status}",
        phases={**look_at.phases, "total": took},
        certificate_days=look_at.days,
        protocol=reply.protocol,
        http_status=reply.status,
    )


def status_problem(status: int, wanted: Optional[int]) -> str:
    if wanted is not None:
        return "" if status == wanted else f"HTTP {status}, expected {wanted}"
    return "" if 200 <= status < 400 else f"HTTP {status}"


def body_problem(target: Dict[str, Any], body: bytes) -> str:
    if target["type"] == "keyword":
        found = target["keyword"] in body[:BODY_CAP].decode("utf-8", errors="replace")
        if found == target["keyword_absent"]:
            return f"the text {target['keyword']!r} {'is there' if found else 'is missing'}"
    if target["type"] == "json":
        return _json_problem(target, body)
    return ""


def _json_problem(target: Dict[str, Any], body: bytes) -> str:
    if len(body) > BODY_CAP:
        return f"the JSON body is larger than {BODY_CAP // 1024} KiB"
    try:
        found = read_path(json.loads(body), target["json_path"])
    except (ValueError, RecursionError):
        return "the body is not JSON"
    except PathMissing as missing:
        return str(missing)
    if same_value(found, target["expected_value"]):
        return ""
    return f"{target['json_path']} is {shown(found)}, expected {shown(target['expected_value'])}"
