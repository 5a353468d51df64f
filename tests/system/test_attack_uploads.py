"""Uploads that do not hurry, and many of them: they hold what they have sent, not what they announce."""

import json
import select
import socket
import time
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
LIMIT_S = 0.250
ACCEPTED_S = 1.0


def begin(path, length, *headers):
    return (
        "\r\n".join([f"POST {path} HTTP/1.1", "Host: x", *headers, f"Content-Length: {length}"]) + "\r\n\r\n"
    ).encode()


def connect(port, address="127.0.0.1"):
    """From one of the addresses of this machine."""
    raw = Raw.__new__(Raw)
    raw.sock = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(address, 0))
    raw.buffer = b""
    return raw


def dripping(uploads, every=1.0):
    """A byte of each now and then, until the block ends."""

    def drip():
        for raw in uploads:
            with suppress(OSError):
                raw.sock.send(b" ")

    return repeated(drip, every)


def percentile(times, share=0.99):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    patient = {"body_grace_s": 120}  # uploads are held for as long as a slow machine needs to measure
    config = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}, "limits": patient}}
    with Serve(tmp_path_factory.mktemp("uploads"), config=config) as running:
        yield running


def measured(serve, key, agent_id, rounds):
    """How long a sign-in, a polled report, a list and the public status take, each some times."""
    report = json.dumps({"hostname": "polled", "os": "Linux"}).encode()
    login = json.dumps({"username": "admin", "password": PASSWORD}).encode()
    token = f"Authorization: Bearer {serve.admin.token}"
    asked = {
        "sign-in": ("POST", "/api/login", [JSON], login),
        "report": ("POST", f"/api/agents/{agent_id}/report", [JSON, f"X-Agent-Key: {key}"], report),
        "list": ("GET", "/api/monitoring/endpoints", [token], None),
        "public": ("GET", "/api/status/public", [], None),
    }
    times = {name: [] for name in asked}
    for _ in range(rounds):
        for name, (method, path, headers, body) in asked.items():
            with Raw(serve.port, timeout=30) as raw:
                began = time.monotonic()
                got = raw.get(path, *headers, method=method, body=body)
                times[name].append(time.monotonic() - began)
            assert got.status in {200, 201}, (name, got.status, got.body)
    return {name: percentile(taken) for name, taken in times.items()}


@pytest.mark.alone
def test_a_thousand_slow_uploads_from_ten_addresses_hold_nobody_up(serve):
    """At most 250 ms at the 99th percentile, or twice what this machine takes when nobody disturbs it. Who comes right
    behind 1,000 new connections waits until they are accepted, and that takes less than a second."""
    agent = serve.admin.post("/api/agents", {"label": "polled"})
    calm = measured(serve, agent["key"], agent["agent_id"], 25)
    with ExitStack() as stack:
        uploads = []
        for number in range(1000):
            raw = connect(serve.port, f"127.0.0.{10 + number % 10}")
            stack.callback(raw.close)
            large = number % 2
            raw.send(begin("/api/login" if not large else "/api/automations", (64 << 10) if large else 15_000, JSON))
            uploads.append(raw)
        with dripping(uploads):
            behind = measured(serve, agent["key"], agent["agent_id"], 1)
            busy = measured(serve, agent["key"], agent["agent_id"], 50)
            dropped = sum(map(answered, uploads))
    assert max(behind.values()) < ACCEPTED_S, behind
    assert not dropped, "measured beside fewer than 1,000 uploads"
    for name, taken in busy.items():
        assert taken <= max(LIMIT_S, 2 * calm[name]), f"{name}: {taken * 1000:.0f} ms, calm {calm[name] * 1000:.0f} ms"


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
            began = time.monotonic()
            raw.send(begin("/api/body", 60_000) + b"x" * 1000)
            got = raw.answer()
            assert (got.status, got.json["code"]) == (408, "timeout")
            assert time.monotonic() - began >= 1.9  # the grace, and the second that 1,000 bytes are worth
        with Raw(serving.port) as raw:
            raw.send(begin("/api/body", 30_000))
            for _ in range(15):
                raw.send(b"x" * 2000)
                time.sleep(0.2)  # 10,000 bytes a second
            assert raw.answer().json["length"] == 30_000


def test_a_chunked_body_below_its_rate_is_cut_too():
    with Serving(body_grace=0.5, min_body_rate=1000, body_timeout=20) as serving:
        with Raw(serving.port) as raw:
            raw.send(begin("/api/body", 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
            assert raw.send(b"5\r\nab").answer().status == 408


def answered(raw):
    waiting = select.poll()  # select itself knows no more than 1,024 files
    waiting.register(raw.sock, select.POLLIN)
    return bool(waiting.poll(0))


def test_one_address_holds_a_quarter_and_its_slowest_goes_first():
    with Serving(max_buffered=4 << 20, judged_from=2 << 20, body_timeout=60) as serving, ExitStack() as stack:
        slow = stack.enter_context(Raw(serving.port))
        slow.send(begin("/api/body", 1 << 20) + b"x" * 200_000)
        other = stack.enter_context(connect(serving.port, "127.0.0.2"))
        other.send(begin("/api/body", 1 << 20) + b"x" * 200_000)
        time.sleep(0.5)  # what makes it slow
        quick = [stack.enter_context(Raw(serving.port)) for _ in range(2)]
        for raw in quick:
            raw.send(begin("/api/body", 600_000) + b"x" * 450_000)
        until(lambda: answered(slow), 10, what="the slow one's end")
        assert slow.answer().status == 503
        assert not answered(other)
        for raw in quick:
            raw.send(b"x" * 150_000)
        assert sorted(raw.answer().status for raw in quick) in ([200, 200], [200, 503])
        other.send(b"x" * ((1 << 20) - 200_000))
        assert other.answer().json["length"] == 1 << 20


def test_of_all_addresses_the_slowest_goes_when_the_budget_is_used_up():
    with Serving(max_buffered=1 << 20, address_share=1.0, judged_from=2 << 20, body_timeout=60) as serving:
        with ExitStack() as stack:
            slow = [stack.enter_context(connect(serving.port, f"127.0.0.{2 + n}")) for n in range(4)]
            for raw in slow:
                raw.send(begin("/api/body", 300_000) + b"x" * 200_000)
            time.sleep(0.5)  # what makes them slow
            with Raw(serving.port) as quick:
                assert quick.get("/api/body", method="POST", body=b"x" * 600_000).json["length"] == 600_000
            until(lambda: any(answered(raw) for raw in slow), 10, what="the end of a slow one")
            assert any(not answered(raw) for raw in slow)
