"""How fast an agent sends what it spooled while its server was away, by a clock that stands still."""

from types import SimpleNamespace

import pytest

from opsapp.agent import session
from opsapp.agent.session import LinkSession
from opsapp.agents.engine.session import RATE
from opsapp.wire import messages
from opsapp.wire.reports import HostReport
from tests.support import wire_messages
from tests.support.clock import FakeClock

SPOOLED = 200


class Spooled:
    """A spool with so many reports of before, and no new one."""

    def __init__(self):
        self.left = SPOOLED

    def take(self):
        return None

    def oldest(self):
        return HostReport("h", "x", reason="spooled") if self.left else None

    def delivered(self):
        self.left -= 1

    def keep(self, _report):
        """Nothing comes back."""


class QuickServer:
    """A socket to a server that thanks for each report at once: nothing but the agent itself is slow."""

    def __init__(self, clock):
        self._clock, self._answers = clock, [wire_messages.encode("welcome", protocol=1, interval=60, time=clock.now())]
        self.heard_at = clock.monotonic()
        self.on_text = self.on_binary = None
        self.waits = []

    def send(self, text):
        message = wire_messages.decode(text, messages.AGENT)
        if message["type"] == "report":
            self._answers.append(wire_messages.encode("ack", id=message["id"], of="report"))

    def turn(self, most):
        """The next answer; without one the agent waits as long as it said."""
        self.heard_at = self._clock.monotonic()
        if self._answers:
            self.on_text(self._answers.pop(0))
        else:
            self.waits.append(most)
            self._clock.advance(most)

    def wake(self):
        """Nobody waits."""

    def end(self, _code, _reason):
        """The test is over."""


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(session, "time", SimpleNamespace(monotonic=clock.monotonic, time=clock.now))
    return clock


def test_what_was_spooled_is_sent_no_faster_than_a_server_takes_it(clock):
    """A server ends the session of an agent that sends more than so many messages a second. The agent waits once
    between two of them, and not until a turn that has another reason."""
    spool, server = Spooled(), QuickServer(clock)
    LinkSession(
        server,
        messages.Hello(1, "a1", "m", hostname="h", version="0"),
        executor=SimpleNamespace(journal=SimpleNamespace(unthanked=list)),
        reporter=SimpleNamespace(set_interval=lambda _seconds: None, not_taken=lambda _report: None),
        spool=spool,
        streams=SimpleNamespace(begin=lambda _ws: None, end=lambda: None),
        outcomes=SimpleNamespace(waiting=lambda _most: []),
        plugins=None,
        policies=lambda _bundle, _signature: None,
        protect=lambda _names: None,
        server_time=lambda _at: None,
    ).run(lambda: not spool.left, lambda: 1000)
    assert server.waits == pytest.approx([session.SPOOLED_EVERY_S] * (SPOOLED - 1))
    assert session.SPOOLED_EVERY_S * RATE >= 1
