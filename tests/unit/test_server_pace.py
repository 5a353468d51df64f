"""How long a body is waited for, in a time that the test moves: what clients notice of it is in tests/system."""

import types

import pytest

from opsapp.web.answers import PeerSlow
from opsapp.web.server import uploads
from opsapp.web.server.limits import Limits
from tests.support.clock import FakeClock

LIMITS = Limits(body_timeout=20, body_grace=1, min_body_rate=1000)


class SlowClient:
    """A peer that sends `size` bytes `every` so many seconds, or nothing."""

    def __init__(self, clock, size, every):
        self.clock, self.size, self.every = clock, size, every
        self.buffer, self.timeouts, self.seen = bytearray(), [], lambda: None

    def fill(self, timeout):
        self.timeouts.append(timeout)
        self.clock.advance(min(self.every, timeout))
        self.seen()
        if self.every > timeout:
            raise PeerSlow
        self.buffer += b"x" * self.size
        return True


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(uploads, "time", types.SimpleNamespace(monotonic=clock.monotonic))
    return clock


def test_each_piece_is_waited_for_anew(clock):
    client = SlowClient(clock, 1000, every=0.5)
    pace = uploads.Pace(client, Limits(body_timeout=0.6))
    assert all(pace.fill() for _ in range(6))
    assert client.timeouts == [0.6] * 6


def test_a_piece_that_does_not_come_ends_it(clock):
    pace = uploads.Pace(SlowClient(clock, 1000, every=0.7), Limits(body_timeout=0.6))
    with pytest.raises(PeerSlow):
        pace.fill()


def test_a_body_below_its_rate_has_the_grace_and_what_its_bytes_are_worth(clock):
    client = SlowClient(clock, 1, every=0.1)
    client.buffer += b"x" * 1000
    began, pace = clock.monotonic(), uploads.Pace(client, LIMITS)
    with pytest.raises(PeerSlow):
        list(iter(pace.fill, False))
    assert clock.monotonic() - began == pytest.approx(1 + 1, abs=0.1)


def test_a_body_at_its_rate_is_waited_for_beyond_the_grace(clock):
    began, pace = clock.monotonic(), uploads.Pace(SlowClient(clock, 2000, every=0.2), LIMITS)
    assert all(pace.fill() for _ in range(15))
    assert clock.monotonic() - began == pytest.approx(3)


def test_only_the_time_in_which_it_is_waited_for_counts(clock):
    pace = uploads.Pace(SlowClient(clock, 100, every=0.1), LIMITS)
    for _ in range(5):
        assert pace.fill()
        clock.advance(100)
    assert pace.waited == pytest.approx(0.5)


def test_a_client_that_has_stopped_gets_slower(clock):
    """Else one that sent the half at once, and nothing since, would stay and a quicker one go."""
    client = SlowClient(clock, 1000, every=0.1)
    pace, rates = uploads.Pace(client, LIMITS), []
    client.seen = lambda: rates.append(pace.rate())
    client.buffer += b"x" * 1000
    pace.arrived = 1000
    assert pace.fill()
    assert rates == [pytest.approx(10_000)]
    assert pace.rate() == pytest.approx(20_000)
