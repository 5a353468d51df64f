"""What a WebSocket session may cost, who may open one, and how it is kept alive and ended."""

import contextlib
import threading

import pytest

from tests.support.frames import BINARY, CLOSE, CONT, PING, PONG, TEXT, FrameClient, closing, frame, upgrade
from tests.support.raw import Raw
from tests.support.serving import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.system
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def handshake(port, key=KEY, headers=(), version="13", path="/api/session"):
    with Raw(port) as raw:
        raw.send(upgrade(path, raw.host, key, headers, version))
        status, got = raw.head()
        return status, got


def test_the_handshake_of_the_rfc(serving):
    status, headers = handshake(serving.port)
    assert status == 101
    assert headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


@pytest.mark.parametrize(
    ("key", "version", "status"),
    [
        (None, "13", 400),
        ("short", "13", 400),
        ("!" * 24, "13", 400),
        ("A" * 44, "13", 400),
        (KEY, None, 426),
        (KEY, "8", 426),
    ],
)
def test_handshakes_that_cannot_succeed(serving, key, version, status):
    got, headers = handshake(serving.port, key, version=version)
    assert got == status
    if status == 426:
        assert headers["sec-websocket-version"] == "13"


def test_a_plain_request_for_a_session(serving):
    with Raw(serving.port) as raw:
        got = raw.get("/api/session")
        assert (got.status, got.json["code"]) == (426, "upgrade_required")
        assert raw.get("/api/plain").status == 200


def test_a_page_of_another_site_may_not_connect(serving):
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{serving.port}"):
        assert handshake(serving.port, headers=[f"Origin: {origin}"])[0] == 403
    for origin in ("http://friend.example", f"http://127.0.0.1:{serving.port}"):
        assert handshake(serving.port, headers=[f"Origin: {origin}"])[0] == 101


def test_a_foreign_page_cannot_name_its_own_host(serving):
    """DNS rebinding: Origin and Host agree, but neither is ours."""
    with Raw(serving.port) as raw:
        raw.send(upgrade("/api/session", "evil.example", KEY, ["Origin: http://evil.example"]))
        assert raw.head()[0] == 403


def test_subprotocols(serving):
    for offered, agreed in (("other, opsapp", "opsapp"), ("other", None)):
        with FrameClient(serving.port, headers=[f"Sec-WebSocket-Protocol: {offered}"]) as client:
            assert client.agreed.get("sec-websocket-protocol") == agreed


def test_compression_is_not_offered(serving):
    with FrameClient(serving.port, headers=["Sec-WebSocket-Extensions: permessage-deflate"]) as client:
        assert client.ask(frame(TEXT, b"x")).payload == b"x"


def test_frames_sent_with_the_handshake_are_kept(serving):
    with Raw(serving.port) as raw:
        raw.send(upgrade("/api/session", raw.host, KEY) + frame(TEXT, b"early"))
        assert raw.head()[0] == 101
        assert raw.exactly(7) == b"\x81\x05early"


def test_an_announced_giant_is_refused_before_it_is_read(session, serving):
    before = memory(serving)
    session.send(frame(BINARY, b"", length=200 << 20, width=8))
    pieces = 0
    try:
        for _ in range(3200):
            session.send(b"x" * 65536)
            pieces += 1
    except ConnectionError:
        pass
    assert memory(serving) - before < 8 << 20


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_messages_over_the_cap(session, opcode):
    got = session.ask(frame(opcode, b"x" * 65537))
    assert (got.opcode, got.code) == (CLOSE, 1009)


def test_fragments_over_the_cap_together(session):
    session.send(frame(TEXT, b"x" * 40_000, fin=False) + frame(CONT, b"x" * 40_000, fin=False))
    assert session.frame().code == 1009


def test_the_cap_counts_bytes_not_characters(session):
    assert session.ask(frame(TEXT, "ä" * 32_768)).opcode == TEXT
    assert session.ask(frame(TEXT, "ä" * 32_769)).code == 1009


def memory(serving):
    with Raw(serving.port) as raw:
        return raw.get("/api/counts").json["rss"]


def test_a_flood_of_tiny_frames_leaves_the_hub_to_others(serving, session):
    """Others are answered while a flood of empty fragments, which goes on for as long as they ask, is worked off."""
    session.send(frame(BINARY, b"some", fin=False))
    with flooding(session, frame(CONT, b"", fin=False) * 10_000), Raw(serving.port) as other:
        for _ in range(20):
            assert other.get("/api/plain").status == 200
    assert session.ask(frame(CONT, b"thing")).payload == b"something"


@contextlib.contextmanager
def flooding(session, frames):
    """These again and again, as fast as they are taken, until the block ends; the last ones are whole."""
    over, floods = threading.Event(), []

    def send():
        while not over.is_set():
            session.send(frames)
            floods.append(len(frames))

    sender = threading.Thread(target=send)
    sender.start()
    try:
        until(lambda: floods, what="a first flood being taken")
        yield
    finally:
        over.set()
        sender.join()


def test_the_server_pings_and_leaves_whoever_is_silent(serving):
    with FrameClient(serving.port, path="/api/session?ping=0.1&idle=2") as client:
        got = client.frame()
        assert got.opcode == PING
        client.send(frame(PONG, got.payload))
        got = client.frame()
        assert got.opcode == PING
        with contextlib.suppress(ConnectionError):
            while client.frame().opcode == PING:
                pass
        assert client.ended()


def test_pings_alone_end_no_session(serving):
    """How often it is pinged says nothing of how long it may be silent. That a pong counts as a word is told in
    tests/engine/test_websocket.py, where the time is the test's."""
    with FrameClient(serving.port, path="/api/session?ping=0.02&idle=600") as client:
        assert {client.frame().opcode for _ in range(30)} == {PING}
        client.send(frame(TEXT, b"still here"))
        while (got := client.frame()).opcode == PING:
            client.send(frame(PONG, got.payload))
        assert got.payload == b"still here"


def test_a_handler_that_breaks_closes_with_1011(serving, session):
    assert session.ask(frame(TEXT, b"break")).code == 1011
    until(lambda: "session broke off" in serving.output(), 5, what="the log line")


def test_a_peer_that_does_not_read_is_left(serving):
    with Serving(send_timeout=0.5) as short:
        with FrameClient(short.port) as client, Raw(short.port) as watcher:
            big = frame(BINARY, b"x" * 65536)
            with contextlib.suppress(ConnectionError):
                for _ in range(2000):  # its answers are not taken, so that it takes no more of these, and leaves
                    client.send(big)
            until(lambda: watcher.get("/api/counts").json["ended"] == 1, 10, what="the session's end")


def test_sessions_are_counted_down(serving):
    with Raw(serving.port) as watcher:
        many = [FrameClient(serving.port) for _ in range(50)]
        for client in many:
            client.send(frame(CLOSE, closing(1000)))
            assert client.frame().code == 1000
            client.close()
        until(lambda: _balanced(watcher), 5, what="the sessions' ends")


def _balanced(watcher):
    counts = watcher.get("/api/counts").json
    return counts["sessions"] == counts["ended"]
