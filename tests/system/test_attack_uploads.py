"""Uploads that do not hurry, and many of them: they hold what they have sent, not what they announce. How long others
take beside them is told by `make bench ARGS=uploads`."""

import json
from contextlib import ExitStack, suppress

import pytest

from tests.support.process import PASSWORD, Serve
from tests.support.raw import Raw
from tests.support.serving import Serving
from tests.support.together import repeated
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.attack]

JSON = "Content-Type: application/json"
WRONG = "a" * 64
ROUNDS = 25
HELD = {"body_grace": 600, "body_timeout": 600}  # no upload ends while a test lasts


def begin(path, length, *headers):
    return (
        "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *headers, f"Content-Length: {length}"]) + "\r\n\r\n"
    ).encode()


def dripping(uploads, every=1.0):
    """A byte of each now and then, until the block ends."""

    def drip():
        for raw in uploads:
            with suppress(OSError):
                raw.sock.send(b" ")

    return repeated(drip, every)


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    patient = {f"{name}_s": seconds for name, seconds in HELD.items()}
    config = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}, "limits": patient}}
    with Serve(tmp_path_factory.mktemp("uploads"), config=config) as running:
        yield running


def asked_often(serve, key, agent_id, rounds):
    """A sign-in, a polled report, a list and the public status, each some times: all are answered."""
    report = json.dumps({"hostname": "polled", "os": "Linux"}).encode()
    login = json.dumps({"username": "admin", "password": PASSWORD}).encode()
    token = f"Authorization: Bearer {serve.admin.token}"
    asked = {
        "sign-in": ("POST", "/api/login", [JSON], login),
        "report": ("POST", f"/api/agents/{agent_id}/report", [JSON, f"X-Agent-Key: {key}"], report),
        "list": ("GET", "/api/monitoring/endpoints", [token], None),
        "public": ("GET", "/api/status/public", [], None),
    }
    for _ in range(rounds):
        for name, (method, path, headers, body) in asked.items():
            with Raw(serve.port) as raw:
                got = raw.get(path, *headers, method=method, body=body)
            assert got.status in {200, 201}, (name, got.status, got.body)


def test_a_thousand_slow_uploads_from_ten_addresses_hold_nobody_up(serve):
    """Others are answered while all of them are under way: none of them ends or is dropped meanwhile. Nor does it cost
    more than a few times as much to answer them."""
    agent = serve.admin.post("/api/agents", {"label": "polled"})
    asked_often(serve, agent["key"], agent["agent_id"], 1)
    began = serve.cpu_s()
    asked_often(serve, agent["key"], agent["agent_id"], ROUNDS)
    calm = serve.cpu_s() - began
    with ExitStack() as stack:
        uploads = []
        for number in range(1000):
            raw = Raw(serve.port, source=f"127.0.0.{10 + number % 10}")
            stack.callback(raw.close)
            large = number % 2
            raw.send(begin("/api/login" if not large else "/api/automations", (64 << 10) if large else 15_000, JSON))
            uploads.append(raw)
        asked_often(serve, agent["key"], agent["agent_id"], 1)  # right behind 1,000 new connections
        began = serve.cpu_s()
        asked_often(serve, agent["key"], agent["agent_id"], ROUNDS)
        busy = serve.cpu_s() - began
        with dripping(uploads):
            asked_often(serve, agent["key"], agent["agent_id"], ROUNDS)
        assert not any(raw.is_answered() for raw in uploads), "asked beside fewer than 1,000 uploads"
    assert busy < 5 * calm + 1.0, f"{busy:.2f} s of processor, and {calm:.2f} s without uploads"


def test_a_declared_length_reserves_nothing():
    """32 announcements of 1 MiB used to fill a budget of 32 MiB."""
    with Serving(max_buffered=8 << 20, judged_from=2 << 20) as serving, ExitStack() as stack:
        for _ in range(64):
            raw = stack.enter_context(Raw(serving.port))
            raw.send(begin("/api/body", 1 << 20) + b"abc")
        with Raw(serving.port) as other:
            assert other.get("/api/body", method="POST", body=b"x" * 1_000_000).json["length"] == 1_000_000


@pytest.mark.parametrize("credential", [[], [f"Authorization: Bearer {WRONG}"], [f"X-Agent-Key: {WRONG}"]])
def test_who_is_not_known_is_refused_before_a_large_body(serve, credential):
    """With nothing of the body sent; a client that waits for 100 Continue never sends it."""
    for head in (
        begin("/api/automations", 70_000, JSON, *credential),
        begin("/api/automations", 70_000, JSON, "Expect: 100-continue", *credential),
    ):
        with Raw(serve.port) as raw:
            got = raw.send(head).answer()
            assert got.status == 401
            assert got.headers["connection"] == "close"
    with Raw(serve.port) as raw:
        chunked = begin("/api/automations", 0, JSON, *credential).replace(
            b"Content-Length: 0", b"Transfer-Encoding: chunked"
        )
        raw.send(chunked + b"10000\r\n" + b" " * 0x10000 + b"\r\n")
        assert raw.answer().status == 401


def test_who_is_known_sends_large_bodies(serve):
    """Read whole after the head was judged, the change made once, the connection kept."""
    before = len(serve.admin.get("/api/automations"))
    made = {
        "name": "large",
        "type": "script",
        "params": {"script": "true # " + "x" * 60_000},
        "description": "y" * 2000,
    }
    body = json.dumps(made).encode().ljust(100_000)
    token = f"Authorization: Bearer {serve.admin.token}"
    with Raw(serve.port) as raw:
        assert raw.get("/api/automations", JSON, token, method="POST", body=body).status == 201
        raw.send(begin("/api/automations", 0, JSON, token).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        raw.send(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body.replace(b'"large"', b'"again"')))
        assert raw.answer().status == 201
        assert raw.get("/api/me", token).status == 200
    assert len(serve.admin.get("/api/automations")) == before + 2


def test_a_body_below_its_rate_is_cut():
    with Serving(body_grace=1.0, min_body_rate=1000, body_timeout=20) as serving:
        with Raw(serving.port) as raw, dripping([raw], every=0.1):
            raw.send(begin("/api/body", 60_000) + b"x" * 1000)
            got = raw.answer()
            assert (got.status, got.json["code"]) == (408, "timeout")


def test_a_body_at_its_rate_is_taken_beyond_the_grace():
    """The grace is less than a request of another takes. Each piece is worth 20 s, and others ask ten times before the
    next: tests/unit/test_server_pace.py has how both are reckoned."""
    with Serving(body_grace=0.001, min_body_rate=100, body_timeout=600) as serving:
        with Raw(serving.port) as raw, Raw(serving.port) as other:
            raw.send(begin("/api/body", 30_000) + b"x" * 2000)
            for _ in range(14):
                assert {other.get("/api/plain").status for _ in range(10)} == {200}
                assert not raw.is_answered()
                raw.send(b"x" * 2000)
            assert raw.answer().json["length"] == 30_000


def test_a_chunked_body_below_its_rate_is_cut_too():
    with Serving(body_grace=0.5, min_body_rate=1000, body_timeout=20) as serving:
        with Raw(serving.port) as raw:
            raw.send(begin("/api/body", 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
            assert raw.send(b"5\r\nab").answer().status == 408


def answered_meanwhile(serving):
    """Others are, so that who has stopped sending is waited for already: that makes it slow."""
    with Raw(serving.port) as another:
        assert {another.get("/api/plain").status for _ in range(20)} == {200}


def test_one_address_holds_a_quarter_and_its_slowest_goes_first():
    with Serving(max_buffered=4 << 20, judged_from=2 << 20, **HELD) as serving, ExitStack() as stack:
        slow = stack.enter_context(Raw(serving.port))
        slow.send(begin("/api/body", 1 << 20) + b"x" * 200_000)
        other = stack.enter_context(Raw(serving.port, source="127.0.0.2"))
        other.send(begin("/api/body", 1 << 20) + b"x" * 200_000)
        answered_meanwhile(serving)
        quick = [stack.enter_context(Raw(serving.port)) for _ in range(2)]
        for raw in quick:
            raw.send(begin("/api/body", 600_000) + b"x" * 450_000)
        assert slow.answer().status == 503
        assert not other.is_answered()
        for raw in quick:
            raw.send(b"x" * 150_000)
        assert sorted(raw.answer().status for raw in quick) in ([200, 200], [200, 503])
        other.send(b"x" * ((1 << 20) - 200_000))
        assert other.answer().json["length"] == 1 << 20


def test_of_all_addresses_the_slowest_goes_when_the_budget_is_used_up():
    with Serving(
        max_buffered=1 << 20, address_share=1.0, judged_from=2 << 20, body_timeout=600, body_grace=600
    ) as serving:
        with ExitStack() as stack:
            slow = [stack.enter_context(Raw(serving.port, source=f"127.0.0.{2 + n}")) for n in range(4)]
            for raw in slow:
                raw.send(begin("/api/body", 300_000) + b"x" * 200_000)
            answered_meanwhile(serving)
            with Raw(serving.port) as quick:
                assert quick.get("/api/body", method="POST", body=b"x" * 600_000).json["length"] == 600_000
            until(lambda: any(raw.is_answered() for raw in slow), 10, what="the end of a slow one")
            assert any(not raw.is_answered() for raw in slow)


def test_a_document_of_many_megabytes_is_taken_from_an_admin_alone(serve):
    """Of whom may not apply it, nothing is read; how much may come is told."""
    document = {"monitors": [{"name": "shop", "type": "http", "url": "https://shop.example.org/"}]}
    body = json.dumps({"document": document, "dry_run": True}).encode().ljust(3 << 20)
    with Raw(serve.port) as raw:
        got = raw.get("/api/apply", JSON, f"Authorization: Bearer {serve.admin.token}", method="POST", body=body)
    assert got.status == 200, got.body
    assert [change["change"] for change in got.json["changes"]] == ["create"]
    viewer = serve.admin.post("/api/keys", {"name": "looks", "role": "viewer"})["key"]
    for head, status in (
        (begin("/api/apply", len(body), JSON, f"Authorization: Bearer {viewer}"), 403),
        (begin("/api/apply", len(body), JSON), 401),
        (begin("/api/apply", (16 << 20) + 1, JSON, f"Authorization: Bearer {serve.admin.token}"), 413),
    ):
        with Raw(serve.port) as raw:
            got = raw.send(head).answer()
            assert got.status == status
    assert got.json["error"] == f"The body is larger than {16 << 20} bytes."
