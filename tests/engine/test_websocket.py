"""A WebSocket over a wire that the test holds: time-outs, peers that are gone, and whatever bytes may come."""

import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsapp.web import websocket
from opsapp.web.answers import PeerLost, PeerSlow
from opsapp.web.websocket import ABNORMAL, Closed, WebSocket
from tests.support.clock import FakeClock
from tests.support.frames import BINARY, CLOSE, CONT, PING, PONG, TEXT, closing, frame


class Wire:
    """Gives what it was told to, then waits for ever, ends, or is lost."""

    def __init__(self, *pieces, then="slow"):
        self.pieces, self.then, self.sent, self.lost, self.lingered, self.hung_up = list(pieces), then, b"", False, 0, 0

    def recv(self, timeout):
        if self.pieces:
            return self.pieces.pop(0)
        if self.then == "end":
            return b""
        raise PeerLost if self.then == "lost" else PeerSlow

    def send(self, data, timeout):
        if self.lost:
            raise PeerLost
        self.sent += data

    def linger(self):
        self.lingered += 1

    def hang_up(self):
        self.hung_up += 1


def session(*pieces, then="slow", **limits):
    wire = Wire(*pieces, then=then)
    limits = {"max_message": 1000, "ping_every": 20, "idle_after": 60, **limits}
    return WebSocket(wire, **limits), wire


def test_receiving_gives_up_after_its_time():
    socket, _wire = session()
    with pytest.raises(TimeoutError):
        socket.receive(timeout=0.01)
    assert socket.open


def test_a_message_that_is_there_is_given_though_the_time_is_up():
    socket, _wire = session(frame(TEXT, b"a") + frame(TEXT, b"b"))
    assert (socket.receive(timeout=1), socket.receive(timeout=0)) == ("a", "b")


@pytest.mark.parametrize("then", ["end", "lost"])
def test_a_peer_that_leaves_ends_the_session(then):
    socket, _wire = session(frame(TEXT, b"a"), then=then)
    assert (socket.receive(), socket.receive(), socket.close_code) == ("a", None, ABNORMAL)
    with pytest.raises(Closed):
        socket.send("too late")


def test_sending_to_a_peer_that_is_gone():
    socket, wire = session()
    wire.lost = True
    with pytest.raises(Closed):
        socket.send(b"x")
    assert not socket.open
    assert socket.receive() is None


def test_closing_towards_a_peer_that_is_gone():
    socket, wire = session()
    wire.lost = True
    socket.close(1001)
    assert (socket.open, socket.receive()) == (False, None)


def test_answering_a_peer_that_is_gone():
    socket, wire = session(frame(PING, b"x"))
    wire.lost = True
    assert (socket.receive(), socket.close_code) == (None, ABNORMAL)


def test_pinging_a_peer_that_is_gone():
    socket, wire = session(ping_every=0.0)
    wire.lost = True
    assert (socket.receive(), socket.close_code) == (None, ABNORMAL)


def test_a_silent_peer_is_pinged_and_then_left():
    socket, wire = session(ping_every=0.01, idle_after=0.5)
    assert socket.receive() is None
    assert wire.sent.startswith(b"\x89\x06opsapp")
    assert socket.close_code == ABNORMAL


def test_the_silence_of_a_time_in_which_nobody_listened_is_not_the_peers(monkeypatch):
    """A handler that waited for its store for a minute has heard nothing, and the peer was there all the time."""
    clock = FakeClock()
    monkeypatch.setattr(websocket.time, "monotonic", clock.monotonic)
    socket, wire = session(frame(TEXT, b"a"), ping_every=7, idle_after=14)
    assert socket.receive() == "a"
    clock.advance(60)
    wire.recv = Answering(clock, pongs=0).recv
    with pytest.raises(TimeoutError):
        socket.receive(timeout=13)
    assert socket.open
    assert socket.receive() is None
    assert socket.fell_silent


class Answering(Wire):
    """Answers so many pings; else the time of each wait passes in vain."""

    def __init__(self, clock, pongs):
        super().__init__()
        self.clock, self.pongs = clock, pongs

    def recv(self, timeout):
        if self.pongs and self.sent:
            self.pongs, self.sent = self.pongs - 1, b""
            return frame(PONG, b"opsapp")
        self.clock.advance(timeout)
        raise PeerSlow


@pytest.mark.parametrize("pongs", [0, 1, 12])
def test_pongs_keep_a_session_alive_and_pings_do_not(monkeypatch, pongs):
    """A ping goes out after 20 s of silence, and 60 s of silence are the end."""
    clock = FakeClock()
    monkeypatch.setattr(websocket, "time", types.SimpleNamespace(monotonic=clock.monotonic))
    began, wire = clock.monotonic(), Answering(clock, pongs)
    socket = WebSocket(wire, max_message=1000, ping_every=20, idle_after=60)
    assert (socket.receive(), socket.close_code) == (None, ABNORMAL)
    assert clock.monotonic() - began == pytest.approx(pongs * 20 + 60)


def test_the_end_waits_for_the_peers_answer_and_drops_what_comes_before_it():
    socket, wire = session(frame(TEXT, b"unread"), frame(CLOSE, closing(1000)))
    socket.finish(2.0)
    assert wire.sent == b"\x88\x02\x03\xe8"
    assert (wire.pieces, wire.lingered) == ([], 1)


def test_the_end_with_a_peer_that_is_lost_does_not_linger():
    socket, wire = session(then="lost")
    socket.finish(2.0)
    assert wire.lingered == 0


def test_an_end_without_patience():
    socket, wire = session(frame(TEXT, b"unread"))
    socket.finish(0.0)
    assert (wire.sent, len(wire.pieces), wire.lingered) == (b"\x88\x02\x03\xe8", 1, 0)


def test_whoever_waits_is_woken_when_the_close_is_not_answered():
    socket, wire = session()
    socket.close()
    socket._give_up()
    assert wire.hung_up == 1
    socket.finish(0.0)
    socket._give_up()
    assert wire.hung_up == 1


FRAMES = st.builds(
    frame,
    st.sampled_from([TEXT, BINARY, CONT, PING, PONG, CLOSE, 3]),
    st.binary(max_size=130),
    fin=st.booleans(),
    rsv=st.sampled_from([0, 0, 0, 4]),
    mask=st.sampled_from([True, True, True, False]),
)


@settings(deadline=None)
@given(st.lists(st.one_of(FRAMES, st.binary(max_size=20)), max_size=12), st.integers(1, 50))
def test_whatever_comes_is_messages_and_then_an_end(frames, step):
    sent = b"".join(frames)
    socket, _wire = session(*[sent[start : start + step] for start in range(0, len(sent), step)], then="end")
    while (message := socket.receive()) is not None:
        assert isinstance(message, str | bytes)
        socket.send(message)
    assert not socket.open
    assert socket.close_code is not None
