"""Time in which this process was held up itself is not counted as another's silence."""

import threading

import pytest

from opsapp.runtime.threads import silence
from opsapp.runtime.threads.silence import TURN_S, Silence


@pytest.fixture
def clock(monkeypatch):
    """A monotonic clock that a test moves."""
    now = [100.0]
    monkeypatch.setattr(silence.time, "monotonic", lambda: now[0])
    return now


def wait_out(clock, seconds, turn_takes):
    """How long it takes until the silence is over, when nothing is ever heard and each turn takes so long."""
    began, left = clock[0], Silence(seconds)

    def ready(turn):
        clock[0] += max(turn, turn_takes)
        return False

    while not left.is_certain:
        assert left.wait(ready) is False
    return clock[0] - began


def test_on_a_quiet_machine_it_is_over_in_time(clock):
    assert wait_out(clock, 1.4, 0) == pytest.approx(1.4)


def test_a_process_that_is_late_itself_waits_longer(clock):
    assert wait_out(clock, 1.4, 5 * TURN_S) == pytest.approx(7.0)


def test_a_process_that_stood_still_waits_as_long_as_before(clock):
    left = Silence(1.4)

    def stopped(turn):
        clock[0] += 3600
        return False

    assert left.wait(stopped) is False
    assert not left.is_certain


def test_an_answer_in_between_costs_only_its_time(clock):
    left = Silence(0.1)

    def heard(turn):
        clock[0] += 0.01
        return "yes"

    assert [left.wait(heard) for _ in range(9)] == ["yes"] * 9
    assert not left.is_certain
    left.wait(heard)
    assert left.is_certain


def test_with_the_real_clock():
    """A turn counts for no more than it was asked to last: together they are as long as the silence, or longer."""
    never, turns, left = threading.Event(), [], Silence(0.2)
    while not left.is_certain:
        left.wait(lambda turn: turns.append(turn) or never.wait(turn))
    assert sum(turns) >= 0.199
