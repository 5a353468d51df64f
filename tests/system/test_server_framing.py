"""Requests over a real socket that are framed oddly: each is answered once and clearly, or refused and closed."""

import json
import urllib.request

import pytest

from tests.support.raw import Raw
from tests.support.serving import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.system


HOST = "Host: 127.0.0.1"


def head(*lines, line="GET /api/plain HTTP/1.1"):
    return ("\r\n".join([line, HOST, *lines]) + "\r\n\r\n").encode("latin-1")


def refusal(raw, data, status, code):
    """The server says why, as the contract wants its errors, and closes."""
    got = raw.send(data).answer()
    assert (got.status, got.json["code"]) == (status, code)
    assert set(got.json) == {"error", "code"}
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["cache-control"] == "no-store"
    assert len(got.headers["x-request-id"]) == 16
    assert got.headers["connection"] == "close"
    assert "date" in got.headers
    assert raw.ended()


SMUGGLED = b"GET /api/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"


POST = "POST /api/body HTTP/1.1"


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (head("Content-Length: 3", "Transfer-Encoding: chunked", line=POST) + b"0\r\n\r\n", "conflicting_framing"),
        (head("Transfer-Encoding: chunked", line=POST) + b"5 \r\nabcde\r\n0\r\n\r\n", "bad_chunk"),
        (b"\r\n" * 20 + head(), "bad_request_line"),
    ],
)
def test_what_cannot_be_framed_is_refused_and_nothing_behind_it_is_read(raw, data, code):
    """One of each stage. Every reason is in tests/unit: test_server_head.py and test_server_body.py."""
    refusal(raw, data + SMUGGLED, 400, code)


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"GET /" + b"a" * 40_000, 414, "uri_too_long"),
        (head("X: " + "a" * 40_000), 431, "head_too_large"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version"),
        (head("Content-Length: 1048577", line=POST), 413, "too_large"),
    ],
)
def test_oversized_and_foreign(raw, data, status, code):
    refusal(raw, data, status, code)


def test_good_chunks_reach_the_application_as_a_plain_body(raw):
    raw.send(head("Transfer-Encoding: chunked", line="POST /api/body HTTP/1.1"))
    raw.send(b'5;name="v"\r\nabcde\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n')
    assert raw.answer().json == {"length": 15, "te": None, "text": "abcde0123456789"}
    assert raw.get("/api/plain").status == 200


def test_a_chunked_body_over_the_cap(raw):
    raw.send(head("Transfer-Encoding: chunked", line="POST /api/body HTTP/1.1"))
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    raw.send(piece * 17 + b"0\r\n\r\n")
    got = raw.answer()
    assert (got.status, got.json["code"], got.headers["connection"]) == (413, "too_large", "close")


def test_the_cap_by_path(raw):
    assert raw.get("/api/body", method="POST", body=b"x" * (1 << 20)).json["length"] == 1 << 20
    assert raw.get("/api/big-body", method="POST", body=b"x" * (4 << 20)).json["length"] == 4 << 20


def test_a_413_reaches_a_client_that_goes_on_sending(serving):
    """urllib sends its whole body before it reads: without a lingering close it would see a reset."""
    asked = urllib.request.Request(f"http://127.0.0.1:{serving.port}/api/body", data=b"x" * (12 << 20), method="POST")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(asked)
    with caught.value as answer:
        assert (answer.code, json.load(answer)["code"]) == (413, "too_large")


def test_pipelined_requests_are_answered_in_order(raw):
    raw.send(b"".join(head(f"X-Test: {n}") for n in range(20)) + head("Connection: close", "X-Test: last"))
    assert [raw.answer().json["x"] for _ in range(21)] == [*map(str, range(20)), "last"]
    assert raw.ended()


def test_pipelined_behind_a_body(raw):
    raw.send(head("Content-Length: 3", line="POST /api/body HTTP/1.1") + b"abc" + head("X-Test: next"))
    assert raw.answer().json["length"] == 3
    assert raw.answer().json["x"] == "next"


def test_one_byte_at_a_time(raw):
    for byte in head("Content-Length: 2", line="POST /api/body HTTP/1.1") + b"ab":
        raw.send(bytes([byte]))
    assert raw.answer().json["length"] == 2


def test_head_answers_have_no_body(raw):
    for path in ("/api/plain", "/api/told", "/api/ticks", "/api/deferred"):
        got = raw.get(path, method="HEAD")
        assert got.status in {200, 201, 206}
    assert raw.get("/api/plain").status == 200


def test_a_client_that_waits_is_told_to_go_on(raw):
    raw.send(head("Content-Length: 3", "Expect: 100-continue", line="POST /api/body HTTP/1.1"))
    assert raw.head()[0] == 100
    assert raw.send(b"abc").answer().json["length"] == 3


def test_a_client_that_waits_is_spared_a_body_that_nobody_takes(raw):
    raw.send(head("Content-Length: 2000000", "Expect: 100-continue", line="POST /api/body HTTP/1.1"))
    assert raw.answer().status == 413


def test_http_1_0(raw):
    got = raw.send(b"GET /api/plain HTTP/1.0\r\n\r\n").answer()
    assert (got.status, got.headers["connection"]) == (200, "close")
    assert raw.ended()


def test_http_1_0_gets_no_chunks_and_may_stay(serving):
    with Raw(serving.port) as raw:
        got = raw.send(b"GET /api/ticks?last=2 HTTP/1.0\r\n\r\n").answer()
        assert "transfer-encoding" not in got.headers
        assert got.body == b"1 xxxxxxxxxx2 xxxxxxxxxx"
    with Raw(serving.port) as raw:
        got = raw.send(b"GET /api/plain HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").answer()
        assert got.headers["connection"] == "keep-alive"
        assert raw.send(b"GET /api/plain HTTP/1.0\r\n\r\n").answer().status == 200


def test_urls_are_not_built_from_any_host(raw):
    for host in ("evil.example", "evil.example:80"):
        got = raw.send(f"GET /api/plain HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()).answer()
        assert got.json["host"] == f"http://{raw.host}"
    assert raw.get("/api/plain").json["host"] == f"http://{raw.host}"
    got = raw.send(b"GET http://evil.example/api/plain HTTP/1.1\r\nHost: x\r\n\r\n").answer()
    assert got.json["host"] == f"http://{raw.host}"


def test_a_configured_base_url_is_the_host():
    with Serving(base_url="https://ops.example") as serving, Raw(serving.port) as raw:
        got = raw.send(b"GET /api/plain HTTP/1.1\r\nHost: evil.example\r\n\r\n").answer()
        assert got.json["host"] == "https://ops.example"


def test_a_header_that_would_split_the_answer_is_not_sent(raw):
    got = raw.get("/api/split?v=a%0d%0aSet-Cookie:%20x=1")
    assert got.status == 500
    assert "set-cookie" not in got.headers
    assert raw.get("/api/split?v=fine").headers["x-evil"] == "fine"


def test_underscored_headers_do_not_pass_for_others(raw):
    assert raw.get("/api/plain", "X_Test: stolen").json["x"] is None


def test_whatever_the_application_raises_is_a_500_that_says_nothing(raw):
    for path in ("/api/crash", "/api/crash?how=exit"):
        got = raw.get(path)
        assert got.status == 500
        assert got.json == {"error": "The server failed to answer.", "code": "internal"}
    assert raw.get("/api/plain").status == 200


def test_the_access_log_has_a_line_a_request_and_no_secret(serving, raw):
    raw.get("/api/plain?token=" + "5ec2e7" * 10 + "abcd&q=%20x")
    made = raw.get("/api/automations/webhook/SECRETSECRET").headers["x-request-id"]
    raw.send(head("Authorization: Bearer SECRETSECRET", line="GET /api/plain HTTP/1.1")).answer()
    line = until(lambda: next((one for one in serving.lines if made in one), None), 5, what="the line")
    assert "method=GET path=/api/automations/webhook/[redacted] status=404" in line
    assert "SECRET" not in serving.output()
    assert "5ec2e7" not in serving.output()


@pytest.mark.parametrize(("trusted", "shown"), [((), "127.0.0.1"), (("127.0.0.0/8",), "192.0.2.7")])
def test_the_log_names_the_client_behind_a_trusted_proxy_only(trusted, shown):
    with Serving(trusted_proxies=trusted) as serving, Raw(serving.port) as raw:
        made = raw.get("/api/plain", "X-Forwarded-For: 203.0.113.1, 192.0.2.7").headers["x-request-id"]
        line = until(lambda: next((one for one in serving.lines if made in one), None), 5, what="the line")
        assert f"remote={shown} " in line
