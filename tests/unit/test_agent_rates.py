"""CPU shares and network rates of the agent: over which span, and when they are unknown."""

import pytest

from opsapp.agent import rates
from opsapp.agent.metrics import Metrics
from opsapp.agent.rates import SPAN_S, Rates


class Host:
    """A host whose counters are what the test says."""

    at, busy, total, received = 1000.0, 0.0, 0.0, 0.0

    def run(self, seconds, cpu, received=0.0):
        self.at += seconds
        self.busy += seconds * cpu
        self.total += seconds * 100
        self.received += received

    def monotonic(self):
        return self.at


@pytest.fixture
def host(monkeypatch):
    made = Host()
    monkeypatch.setattr(rates, "time", made)
    monkeypatch.setattr(rates, "_cpu_times", lambda: (made.busy, made.total))
    monkeypatch.setattr(rates, "_net_counters", lambda: {"eth0": (made.received, 0.0)})
    return made


def test_right_after_the_start_nothing_is_known(host):
    seen = Rates()
    assert seen.ready_in() == SPAN_S
    host.run(SPAN_S / 5, cpu=100, received=1e6)  # the agent's own beginning
    seen.take(False)
    assert (seen.cpu_percent(), seen.network()) == (None, {})
    host.run(SPAN_S, cpu=10)
    assert seen.ready_in() == 0
    seen.take(False)
    assert seen.cpu_percent() == 10


def test_a_report_tells_of_all_the_time_since_the_one_before(host):
    seen = Rates()
    host.run(5, cpu=80)
    seen.look()
    host.run(10, cpu=20, received=3000)
    seen.take(False)
    assert (seen.cpu_percent(), seen.network()) == (40, {"eth0": {"rx_bytes": 200, "tx_bytes": 0}})


def test_a_measurement_after_a_change_tells_of_the_moment_alone(host):
    seen = Rates()
    host.run(9, cpu=100)
    seen.look()
    host.run(1, cpu=5)
    seen.take(True)
    assert seen.cpu_percent() == 5
    host.run(10, cpu=50)
    seen.take(False)
    assert seen.cpu_percent() == 70.25  # a report still tells of everything since the last report


def test_what_was_before_the_host_was_changed_does_not_count(host):
    seen = Rates()
    host.run(9, cpu=100)
    seen.look()
    seen.begin_anew()
    host.run(0.1, cpu=100)
    seen.take(False)
    assert seen.cpu_percent() is None
    host.run(1, cpu=5)
    seen.take(False)
    assert seen.cpu_percent() == pytest.approx(5, abs=0.01)


def test_two_reports_at_once_do_not_tell_of_the_blink_between_them(host):
    seen = Rates()
    host.run(10, cpu=30)
    seen.take(False)
    host.run(0.01, cpu=100)
    seen.take(False)
    assert 30 <= seen.cpu_percent() < 31


def test_shares_of_processes_are_left_out_until_they_are_known():
    top = Metrics().sample().top_processes
    assert top
    assert all("cpu_percent" not in each for each in top)
