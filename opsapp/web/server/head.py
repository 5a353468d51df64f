"""Reading a request's head strictly. RFC 9112 lets a server be lenient about line ends, folded lines, repeated lengths
and odd transfer codings; each of these has smuggled requests past a proxy. Pure: a `RequestHead` or a `Refusal`."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from opsapp.wire.dataclass import dataclass

from .refusal import Refusal, bad

MAX_LINE = 8 * 1024
MAX_HEAD = 32 * 1024
MAX_HEADERS = 100

_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_REQUEST_LINE = re.compile(rf"({_TOKEN}{{1,32}}) ([!-~]+) HTTP/([0-9])\.([0-9])")
_HEADER_LINE = re.compile(rf"({_TOKEN}+):([\t -~\x80-\xff]*)")  # nothing here can be matched in two ways
_ABSOLUTE = re.compile(r"https?://([^/?#]*)(.*)", re.IGNORECASE)
_HOST = re.compile(r"(?:[A-Za-z0-9._\-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")

# Where two values would mean that two readers may each believe another one.
_ONCE = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "authorization", "x-agent-key", "origin"}
)
_FRAMING = frozenset({"content-length", "transfer-encoding"})
_LIST_COOKIE = "cookie"


@dataclass(slots=True)
class RequestHead:
    """`path` is decoded the WSGI way (latin-1), `query` is as it came."""

    method: str
    path: str
    query: str
    minor: int
    headers: dict[str, str]
    length: int
    chunked: bool
    keep_alive: bool
    expects_continue: bool

    @property
    def host(self) -> str | None:
        return self.headers.get("host")

    @property
    def has_body(self) -> bool:
        return self.chunked or self.length > 0

    @property
    def wants_websocket(self) -> bool:
        headers = self.headers
        return "websocket" in tokens(headers.get("upgrade")) and "upgrade" in tokens(headers.get("connection"))


def tokens(value: str | None) -> list[str]:
    """A comma list in lower case."""
    return [token.strip().lower() for token in (value or "").split(",")]


def check_unfinished(raw: bytes | bytearray, seen: int = 0) -> None:
    """Refuse early; the first `seen` bytes were looked through before."""
    if _BARE_LF.search(raw, seen):
        raise bad("bad_line_end", "Lines of a request must end with CR LF.")
    if len(raw) > MAX_LINE and b"\r\n" not in raw[: MAX_LINE + 2]:
        raise Refusal(414, "uri_too_long", f"The request line is longer than {MAX_LINE} bytes.")
    if len(raw) > MAX_HEAD:
        raise Refusal(431, "head_too_large", f"The request's head is larger than {MAX_HEAD} bytes.")


def parse(raw: bytes) -> RequestHead:
    """`raw`: everything before the empty line."""
    if raw.count(b"\r\n") != raw.count(b"\n") or raw.count(b"\r\n") != raw.count(b"\r"):
        raise bad("bad_line_end", "Lines of a request must end with CR LF.")
    lines = raw.decode("latin-1").split("\r\n")
    if len(lines[0]) > MAX_LINE:
        raise Refusal(414, "uri_too_long", f"The request line is longer than {MAX_LINE} bytes.")
    if len(raw) > MAX_HEAD:
        raise Refusal(431, "head_too_large", f"The request's head is larger than {MAX_HEAD} bytes.")
    if len(lines) - 1 > MAX_HEADERS:
        raise Refusal(431, "too_many_headers", f"More than {MAX_HEADERS} header lines.")
    method, target, minor = _request_line(lines[0])
    headers = _headers(lines[1:])
    _check_host(headers, minor)  # HTTP/1.1 wants one beside an absolute target too
    target = _target(target, headers)
    path, _, query = target.partition("?")
    length, chunked = _framing(headers, minor)
    return RequestHead(
        method,
        _path(path),
        query,
        minor,
        headers,
        length,
        chunked,
        _keep_alive(headers, minor),
        _expects_continue(headers, minor),
    )


def _request_line(line: str) -> tuple[str, str, int]:
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise bad("bad_request_line", "The request line cannot be read.")
    method, target, major, minor = match.groups()
    if (major, minor) not in {("1", "0"), ("1", "1")}:
        raise Refusal(505, "http_version", "Only HTTP/1.0 and HTTP/1.1 are supported.")
    return method, target, int(minor)


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        match = _HEADER_LINE.fullmatch(line)
        if match is None:
            raise bad("bad_header", "A header line cannot be read.")
        name, value = match.group(1).lower(), match.group(2).strip(" \t")
        if name in _FRAMING and "\t" in match.group(2):
            raise bad("bad_header", "A header line cannot be read.")  # some readers count a tab as part of the value
        if "_" in name or name == "proxy":
            continue  # spelled the CGI way the one passes for another header, the other for a program's setting
        if name not in headers:
            headers[name] = value
        elif name in _ONCE:
            raise bad("repeated_header", f"The header {name} is there more than once.")
        else:
            headers[name] += ("; " if name == _LIST_COOKIE else ", ") + value
    return headers


def _target(target: str, headers: dict[str, str]) -> str:
    """The path and query; of an absolute target, its host counts as the Host."""
    if target.startswith("/"):
        return target
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None:
        raise bad("bad_target", "The request's target must be a path.")
    headers["host"] = absolute.group(1)
    _check_host(headers, 1)
    rest = absolute.group(2)
    return rest if rest.startswith("/") else "/" + rest


def _path(path: str) -> str:
    if "#" in path or _BAD_ESCAPE.search(path):
        raise bad("bad_path", "The path cannot be read.")
    if "%" in path:
        path = unquote_to_bytes(path).decode("latin-1")
    if "." in path and not {".", ".."}.isdisjoint(path.replace("\\", "/").split("/")):
        raise bad("bad_path", "Dot segments are not allowed in a path.")
    return path


def _check_host(headers: dict[str, str], minor: int) -> None:
    host = headers.get("host")
    if host is None:
        if minor == 1:
            raise bad("no_host", "HTTP/1.1 requires a Host header.")
    elif _HOST.fullmatch(host) is None:
        raise bad("bad_host", "The Host header cannot be read.")


def _framing(headers: dict[str, str], minor: int) -> tuple[int, bool]:
    """(length, chunked): one way to see where the body ends, or a refusal."""
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is not None:
        if length is not None:
            raise bad("conflicting_framing", "Content-Length and Transfer-Encoding exclude each other.")
        if minor == 0 or coding.lower() != "chunked":
            raise bad("bad_transfer_encoding", "The only supported transfer coding is chunked.")
        return 0, True
    if length is None:
        return 0, False
    if not (length.isascii() and length.isdigit() and len(length) <= 18):
        raise bad("bad_content_length", "The Content-Length is not a number.")
    return int(length), False


def _keep_alive(headers: dict[str, str], minor: int) -> bool:
    wishes = tokens(headers.get("connection"))
    return "close" not in wishes if minor == 1 else "keep-alive" in wishes


def _expects_continue(headers: dict[str, str], minor: int) -> bool:
    expect = headers.get("expect")
    if expect is None or minor == 0:
        return False
    if expect.lower() != "100-continue":
        raise Refusal(417, "expectation_failed", "The only supported expectation is 100-continue.")
    return True
