"""The head of a request is read strictly: what two readers could understand differently is refused.

Here is each reason by its code. Heads that are made up and damaged are in test_attack_parser.py, and one refusal of
each stage over a socket in tests/system/test_server_framing.py.
"""

import pytest

from opsapp.web.server.head import MAX_HEAD, MAX_LINE, check_unfinished, parse
from opsapp.web.server.refusal import Refusal


def head(*lines, line="GET /api/me HTTP/1.1", host="Host: box-1:6543"):
    return "\r\n".join([line, *([host] if host else []), *lines]).encode("latin-1")


def refused(raw):
    with pytest.raises(Refusal) as caught:
        parse(raw)
    return caught.value.status, caught.value.code


def test_a_plain_head():
    got = parse(head("Accept: a", "accept: b", "Cookie: x=1", "Cookie: y=2", "X-Empty:", "X-Odd: \t pad \xe9 \t"))
    assert (got.method, got.path, got.query, got.minor, got.host) == ("GET", "/api/me", "", 1, "box-1:6543")
    assert got.headers["accept"] == "a, b"
    assert got.headers["cookie"] == "x=1; y=2"
    assert got.headers["x-empty"] == ""
    assert got.headers["x-odd"] == "pad \xe9"
    assert (got.length, got.chunked, got.keep_alive, got.has_body) == (0, False, True, False)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/a%20b?x=%20", "/a b", "x=%20"),
        ("/caf%C3%A9", "/caf\xc3\xa9", ""),
        ("/a?b?c", "/a", "b?c"),
        ("http://other:1/x?y", "/x", "y"),
        ("http://other", "/", ""),
        ("http://other?q", "/", "q"),
        ("/...", "/...", ""),
        ("/a/.well-known", "/a/.well-known", ""),
        ("/%00", "/\0", ""),
    ],
)
def test_targets(target, path, query):
    got = parse(head(line=f"GET {target} HTTP/1.1"))
    assert (got.path, got.query) == (path, query)


def test_an_absolute_target_says_the_host():
    assert parse(head(line="GET http://other:1/x HTTP/1.1")).host == "other:1"
    assert refused(head(line="GET http://user@other/x HTTP/1.1")) == (400, "bad_host")


@pytest.mark.parametrize(
    "line",
    [
        "GET  / HTTP/1.1",
        "GET / HTTP/1.1 ",
        " GET / HTTP/1.1",
        "GET /\tHTTP/1.1",
        "GET /",
        "GET / HTTP/1.1 HTTP/1.1",
        "GET / http/1.1",
        "GET / HTTP/1.10",
        "GET / HTTP/01.1",
        "G\x00T / HTTP/1.1",
        "GET /\x7f HTTP/1.1",
        "GET /\xe9 HTTP/1.1",
        "",
        "GET(1) / HTTP/1.1",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # how TLS begins
    ],
)
def test_bad_request_lines(line):
    assert refused(head(line=line)) == (400, "bad_request_line")


@pytest.mark.parametrize(
    "target",
    ["*", "example.org:80", "ftp://x/y", "api/me", "//../x", "/a/../b", "/a/%2e%2E/b", "/./a", "/..", "/a\\..\\b"],
)
def test_targets_that_are_no_path(target):
    status, code = refused(head(line=f"GET {target} HTTP/1.1"))
    assert status == 400
    assert code in {"bad_target", "bad_path"}


@pytest.mark.parametrize("target", ["/%zz", "/%", "/%2", "/a#b"])
def test_paths_that_cannot_be_read(target):
    assert refused(head(line=f"GET {target} HTTP/1.1")) == (400, "bad_path")


@pytest.mark.parametrize("version", ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0"])
def test_other_versions(version):
    assert refused(head(line=f"GET / {version}")) == (505, "http_version")


@pytest.mark.parametrize(
    "line",
    [
        "X : y",
        " X: y",
        "X",
        ": y",
        "X\x00: y",
        "X: a\x00b",
        "X: a\x0bb",
        "X: a\x7fb",
        "X y: z",
        "",
        "X\xe9: y",
        "\tfolded",
        "Transfer-Encoding:\x0bchunked",
        "Transfer-Encoding: chunked\t",
    ],
)
def test_bad_header_lines(line):
    assert refused(head(line)) == (400, "bad_header")


@pytest.mark.parametrize(
    "raw", [b"GET / HTTP/1.1\nHost: x", b"GET / HTTP/1.1\r\nHost: x\rY: z", b"GET / HTTP/1.1\r\nHost: x\nY: z"]
)
def test_line_ends(raw):
    assert refused(raw) == (400, "bad_line_end")


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (("Content-Length: 5", "Content-Length: 5"), "repeated_header"),
        (("Content-Length: 5", "Content-Length: 6"), "repeated_header"),
        (("Content-Length: 5, 5",), "bad_content_length"),
        (("Content-Length: 5,5",), "bad_content_length"),
        (("Content-Length: +5",), "bad_content_length"),
        (("Content-Length: -5",), "bad_content_length"),
        (("Content-Length: 0x5",), "bad_content_length"),
        (("Content-Length: 5 5",), "bad_content_length"),
        (("Content-Length: 1_0",), "bad_content_length"),
        (("Content-Length:",), "bad_content_length"),
        (("Content-Length: \xb2",), "bad_content_length"),
        (("Content-Length: " + "9" * 30,), "bad_content_length"),
        (("Content-Length: 5", "Transfer-Encoding: chunked"), "conflicting_framing"),
        (("Transfer-Encoding: xchunked",), "bad_transfer_encoding"),
        (("Transfer-Encoding: chunked, chunked",), "bad_transfer_encoding"),
        (("Transfer-Encoding: gzip, chunked",), "bad_transfer_encoding"),
        (("Transfer-Encoding: identity",), "bad_transfer_encoding"),
        (("Transfer-Encoding: chunked;x=1",), "bad_transfer_encoding"),
        (('Transfer-Encoding: "chunked"',), "bad_transfer_encoding"),
        (("Transfer-Encoding:",), "bad_transfer_encoding"),
        (("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "repeated_header"),
        (("Host: y",), "repeated_header"),
        (("Authorization: a", "Authorization: b"), "repeated_header"),
    ],
)
def test_conflicting_framing(lines, code):
    assert refused(head(*lines, line="POST / HTTP/1.1")) == (400, code)


def test_framing_that_is_clear():
    assert parse(head("Content-Length: 007")).length == 7
    assert parse(head("Transfer-Encoding: Chunked")).chunked
    assert refused(head("Transfer-Encoding: chunked", line="POST / HTTP/1.0")) == (400, "bad_transfer_encoding")


def test_hosts():
    assert refused(head(host=None)) == (400, "no_host")
    assert refused(head(host=None, line="GET http://x/api/me HTTP/1.1")) == (400, "no_host")
    assert parse(head(host=None, line="GET / HTTP/1.0")).host is None
    for value in ("", "a b", "a/b", "a@b", "a,b", "x:", "x:abc", "<x>", 'a"b', "[::1", "x:123456"):
        assert refused(head(host=f"Host: {value}")) == (400, "bad_host")
    for value in ("a", "a.b:80", "[::1]:80", "127.0.0.1", "my_host"):
        assert parse(head(host=f"Host: {value}")).host == value


def test_names_that_would_pass_for_others_are_dropped():
    got = parse(head("X_Agent_Key: stolen", "Content_Length: 5", "Proxy: http://evil"))
    assert set(got.headers) == {"host"}


def test_how_long_the_connection_lives():
    assert not parse(head("Connection: Close")).keep_alive
    assert not parse(head("Connection: x, close")).keep_alive
    assert not parse(head(line="GET / HTTP/1.0")).keep_alive
    assert parse(head("Connection: Keep-Alive", line="GET / HTTP/1.0")).keep_alive


def test_expectations():
    assert parse(head("Expect: 100-Continue")).expects_continue
    assert not parse(head("Expect: 100-continue", line="GET / HTTP/1.0")).expects_continue
    assert refused(head("Expect: wonders")) == (417, "expectation_failed")


def test_websockets_are_recognised():
    assert parse(head("Connection: keep-alive, Upgrade", "Upgrade: WebSocket")).wants_websocket
    assert not parse(head("Upgrade: websocket")).wants_websocket
    assert not parse(head("Connection: upgrade", "Upgrade: h2c")).wants_websocket


def test_sizes():
    assert refused(head(line="GET /" + "a" * MAX_LINE + " HTTP/1.1")) == (414, "uri_too_long")
    assert refused(head("X: " + "a" * MAX_HEAD)) == (431, "head_too_large")
    assert refused(head(*["X: y"] * 101)) == (431, "too_many_headers")
    assert parse(head(*["X: y"] * 99)).headers["x"].count("y") == 99


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GET /" + b"a" * (MAX_LINE + 10), 414),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * MAX_HEAD, 431),
        (b"GET / HTTP/1.1\n", 400),
    ],
)
def test_a_head_that_cannot_become_one_is_refused_early(raw, status):
    with pytest.raises(Refusal) as caught:
        check_unfinished(raw)
    assert caught.value.status == status


def test_a_head_that_may_still_become_one_is_awaited():
    check_unfinished(b"GET / HTTP/1.1\r\nHost: x\r")
    check_unfinished(b"")
