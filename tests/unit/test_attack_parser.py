"""Our reader of requests against two others, h11 and llhttp: over requests that are made up, then damaged, all agree on
what a request is and where it ends, or we refuse it. A proxy before us and we ourselves must never see two requests in
the same bytes where the other sees one.
"""

import random
from types import SimpleNamespace
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import h11
import httptools
import pytest

from opsapp.lib.problems import Malformed, TooLarge
from opsapp.web.answers import PeerLost
from opsapp.web.server import body as bodies
from opsapp.web.server.limits import Limits
from opsapp.web.server.refusal import Refusal
from opsapp.web.server.requestloop import RequestLoop
from opsapp.web.server.uploads import Uploads
from tests.support.bytespeer import BytesPeer

pytestmark = pytest.mark.attack

REFUSED, UNFINISHED = "refused", "unfinished"
CAP = 1 << 20


class Request(NamedTuple):
    """What a reader made of the bytes; `end` is where the next request begins."""

    method: str
    target: str
    minor: int
    headers: dict
    body: bytes
    end: int


# ---- the three readers


def ours(raw, pieces):
    peer, limits = BytesPeer(raw, pieces), Limits()
    here = SimpleNamespace(peer=peer, server=SimpleNamespace(limits=limits))
    try:
        head = RequestLoop._head(here)
        if head is None:
            return UNFINISHED
        body = RequestLoop._body(here, head)
        with Uploads(lambda: limits).taking(body.pace, "192.0.2.1") as upload:
            collected = bodies.Collected(body, CAP, upload)
            collected.read(CAP + 1)
            whole = collected.whole()
    except (Refusal, Malformed, TooLarge):
        return REFUSED
    except PeerLost:
        return UNFINISHED
    target = head.path + ("?" + head.query if head.query else "")
    return Request(head.method, target, head.minor, head.headers, whole, peer.given - len(peer.buffer))


def with_h11(raw):
    """Blank lines before a request are its one strictness that RFC 9112 (2.2) does not ask for."""
    blank = 0
    while raw[blank : blank + 2] == b"\r\n":
        blank += 2
    reader = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
    reader.receive_data(raw[blank:])
    request, body = None, b""
    try:
        while True:
            event = reader.next_event()
            if isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return UNFINISHED
    except h11.RemoteProtocolError:
        return REFUSED
    end = len(raw) - len(reader.trailing_data[0])
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers]
    version = int(request.http_version[-1:])
    return Request(request.method.decode(), request.target.decode("latin-1"), version, joined(pairs), body, end)


class Told:
    """What llhttp calls while it reads."""

    def __init__(self):
        self.url, self.body, self.pairs, self.done, self.in_head = b"", b"", [], 0, True

    def on_url(self, url):
        self.url += url

    def on_headers_complete(self):
        self.in_head = False

    def on_header(self, name, value):
        if self.in_head:  # what comes later are trailers, which we check and drop
            self.pairs.append((name.decode("latin-1").lower(), value.decode("latin-1").strip(" \t")))

    def on_body(self, data):
        self.body += data

    def on_message_complete(self):
        self.done += 1


def with_llhttp(raw):
    """Byte by byte, so that the end of the first request is seen."""
    told = Told()
    reader = httptools.HttpRequestParser(told)
    try:
        for at in range(len(raw)):
            reader.feed_data(raw[at : at + 1])
            if told.done:
                return _told(reader, told, at + 1)
    except httptools.HttpParserUpgrade:
        return _told(reader, told, at + 1)
    except httptools.HttpParserError:
        return REFUSED
    return UNFINISHED


def _told(reader, told, end):
    method, minor = reader.get_method().decode(), int(reader.get_http_version()[-1:])
    return Request(method, told.url.decode("latin-1"), minor, joined(told.pairs), told.body, end)


def joined(pairs):
    """As we join them; what we drop is dropped."""
    headers = {}
    for name, value in pairs:
        if "_" not in name and name != "proxy":
            between = "; " if name == "cookie" else ", "
            value = value.lower() if name == "transfer-encoding" else value  # as h11 gives it
            headers[name] = headers[name] + between + value if name in headers else value
    return headers


# ---- what is read

METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]
TARGETS = [
    "/",
    "/api/agents",
    "/a?b=c&d",
    "/%41%2f",
    "/a//b",
    "/?",
    "*",
    "http://x/a",
    "http://x",
    "/a#b",
    "/é",
    "//x/y",
]
SIZES = [
    "0",
    "3",
    "5",
    "05",
    "+5",
    "-1",
    "5,5",
    "5, 5",
    "0x5",
    "5 ",
    " 5",
    "5\t",
    "",
    "1e1",
    "999999999999999999999",
    "5_0",
]
CODINGS = ["chunked", "Chunked", " chunked", "chunked ", "identity", "gzip, chunked", "chunked, chunked", "xchunked",
           "chunked;q=1", '"chunked"', "chunked\t", "\tchunked", "", ",chunked", "chunked,"]  # fmt: skip
OTHERS = [
    "X: y",
    "X:",
    "X:  y  ",
    "Accept: a, b",
    "Cookie: a=b",
    "Cookie: c=d",
    "Connection: close",
    "Connection: keep-alive",
    "X_Y: 1",
    "Proxy: z",
    "X: \xff",
    "Expect: 100-continue",
    "Connection: Content-Length",
    "Upgrade: h2c",
    "TE: trailers",
    "X : y",
    "X\t: y",
    ": y",
    "X",
    " X: y",
    "Content-Length : 3",
    "Transfer-Encoding : chunked",
    "X: a\x0bb",
    "X: a\x00b",
    "Host: y",
    "X-Agent-Key: k",
    "Content_Length: 3",
    "Trailer: X",
    "Content-Length\x0b: 3",
]
NOISE = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    b" ",
    b"\t",
    b":",
    b"\x0b",
    b"\x0c",
    b"\x85",
    b"\xff",
    b";",
    b",",
    b"0",
    b"5",
    b"_",
    b"chunked",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\r\n ",
    b"0\r\n\r\n",
    b"\x7f",
]
NEXT = b"GET /api/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


def make(rng):
    """A request that is mostly sound, with another one behind it."""
    version = rng.choice(["1.1"] * 12 + ["1.0"] * 2 + ["1.2", "2.0", "0.9", "1.10"])
    lines = [f"{rng.choice(METHODS)} {rng.choice(TARGETS)} HTTP/{version}"]
    headers = ["Host: x"] * (rng.random() < 0.95)
    body = b""
    kind = rng.random()
    if kind < 0.35:
        size = rng.choice(SIZES) if rng.random() < 0.4 else "5"
        headers.append(f"Content-Length: {size}")
        body = b"abcde"
    elif kind < 0.75:
        coding = rng.choice(CODINGS) if rng.random() < 0.35 else "chunked"
        headers.append(f"Transfer-Encoding: {coding}")
        body = chunks(rng)
    if rng.random() < 0.1:
        headers.append(
            rng.choice([f"Content-Length: {rng.choice(SIZES)}", f"Transfer-Encoding: {rng.choice(CODINGS)}"])
        )
    headers += [rng.choice(OTHERS[:15]) if rng.random() < 0.8 else rng.choice(OTHERS) for _ in range(rng.randrange(4))]
    rng.shuffle(headers)
    ends = "\r\n" if rng.random() < 0.97 else rng.choice(["\n", "\r", "\n\r"])
    blank = b"\r\n" * rng.choice([0] * 12 + [1, 2, 7])
    return blank + (ends.join([*lines, *headers]) + ends * 2).encode("latin-1") + body + NEXT


def chunks(rng):
    out = b""
    for _ in range(rng.randrange(4)):
        data = bytes(rng.choices(b"abc\r\n0", k=rng.randrange(1, 12)))
        size = rng.choice(["%x", "%X", "0%x", "00000%x"]) % len(data)
        if rng.random() < 0.1:
            size = rng.choice(
                [size + " ", " " + size, "0x" + size, "+" + size, "-" + size, size + "\t", size + "_", ""]
            )
        extension = rng.choice([""] * 8 + [";a", ";a=b", " ;a", ';a="b;c"', ";", ";\n", ";a\r", ";\xff", ";a\x00"])
        line = (size + extension).encode("latin-1")
        end = b"\r\n" if rng.random() < 0.95 else rng.choice([b"\n", b"\r", b"", b"\r\r\n", b"x\r\n"])
        out += line + b"\r\n" + data + end
    trailer = rng.choice([b""] * 6 + [b"T: x\r\n", b"T : x\r\n", b"T: x\n", b" T: x\r\n", b"Content-Length: 3\r\n"])
    return out + rng.choice([b"0", b"00", b"000000"]) + b"\r\n" + trailer + b"\r\n"


def damage(rng, raw):
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3])):
        at = rng.randrange(len(raw))
        what = rng.randrange(5)
        if what == 0:
            raw = raw[:at] + rng.choice(NOISE) + raw[at:]
        elif what == 1:
            raw = raw[:at] + raw[at + rng.randrange(1, 4) :]
        elif what == 2:
            raw = raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :]
        elif what == 3:
            other = rng.randrange(len(raw))
            raw = raw[:at] + raw[min(at, other) : max(at, other)][:60] + raw[at:]
        else:
            raw = raw[:at]
        raw = raw or b"G"
    return raw


# ---- the comparison


def difference(mine, other):
    """What another reader sees differently in bytes that we take; None where we refuse."""
    if mine == REFUSED:
        return None
    if mine == UNFINISHED:
        return None if isinstance(other, str) else f"we wait for more of {other}"
    if isinstance(other, str):
        return f"we take what is {other} there"
    seen = [mine.method, normal(mine.target), mine.minor, mine.body, mine.end]
    there = [other.method, normal(read_as_we_do(other.target)), other.minor, other.body, other.end]
    if seen != there:
        return f"{seen} there {there}"
    host = {"host"} if other.target[:1] != "/" else set()  # an absolute target's host counts as the Host
    mine_headers = joined((name, value) for name, value in mine.headers.items() if name not in host)
    headers = {name: value for name, value in other.headers.items() if name not in host}
    return None if mine_headers == headers else f"{mine_headers} there {headers}"


def read_as_we_do(target):
    """Path and query of a target as the application sees them."""
    if target[:7].lower() == "http://":
        rest = target[7:]
        cut = min((rest.find(mark) for mark in "/?" if mark in rest), default=len(rest))
        target = rest[cut:] if rest[cut:].startswith("/") else "/" + rest[cut:]
    path, mark, query = target.partition("?")
    return unquote_to_bytes(path).decode("latin-1") + (mark + query if query else "")


def normal(target):
    return target.removesuffix("?")


def knows_method(mine):
    """llhttp knows the methods of the registry, we take any token."""
    return isinstance(mine, str) or mine.method in METHODS


def compare(count, seed):
    rng = random.Random(seed)
    taken, found = 0, []
    for _ in range(count):
        raw = damage(rng, make(rng))
        mine = ours(raw, lambda: rng.choice([1, 2, 7, 4096]))
        taken += not isinstance(mine, str)
        wrong = {"h11": difference(mine, with_h11(raw))}
        if knows_method(mine):
            wrong["llhttp"] = difference(mine, with_llhttp(raw))
        found += [f"{name}: {raw!r}\n  {text}" for name, text in wrong.items() if text]
    assert not found, f"{len(found)} differ:\n" + "\n".join(found[:12])
    assert taken > count * 0.15, "too few are sound to say anything"


def test_5000_requests_are_read_alike_or_refused():
    compare(5_000, 20261122)


@pytest.mark.soak
def test_100000_requests_are_read_alike_or_refused():
    compare(100_000, random.SystemRandom().randrange(1 << 30))
