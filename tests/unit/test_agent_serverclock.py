"""The server's time, kept while the server is away: whatever this host's clock does."""

import os

import pytest

from opsapp.agent.serverclock import ServerClock
from opsapp.agent.steady import since_boot

DAY = 86400.0


class Host:
    """A host whose clock and time since boot a test moves."""

    def __init__(self, wall):
        self.wall, self.running, self.boot = wall, 1000.0, "b1"

    def clock(self, place):
        return ServerClock(
            os.path.join(place, "clock.json"), self.boot, wall=lambda: self.wall, running=lambda: self.running
        )

    def pass_time(self, seconds):
        self.wall += seconds
        self.running += seconds


@pytest.fixture
def place(tmp_path):
    return str(tmp_path)


def test_before_the_server_has_said_it_the_hosts_own_clock_counts(place):
    assert Host(5000.0).clock(place).now() == 5000.0


@pytest.mark.parametrize("wrong_by", [-DAY, 0.0, DAY])
def test_it_goes_on_whatever_the_hosts_clock_shows_and_over_restarts_of_the_agent(place, wrong_by):
    host = Host(9e8 + wrong_by)
    clock = host.clock(place)
    clock.heard(9e8)
    host.pass_time(100)
    assert clock.now() == 9e8 + 100
    host.wall += 3 * DAY  # somebody sets it
    assert clock.now() == host.clock(place).now() == 9e8 + 100


def test_after_a_boot_the_difference_of_the_clocks_is_what_is_known(place):
    host = Host(9e8 + DAY)
    host.clock(place).heard(9e8)
    host.boot, host.running = "b2", 5.0
    host.wall += 60
    assert host.clock(place).now() == 9e8 + 60


def test_what_is_known_already_is_not_written_again(place):
    host = Host(9e8)
    clock = host.clock(place)
    clock.heard(None)
    assert not os.listdir(place)
    clock.heard(9e8)
    before = os.stat(os.path.join(place, "clock.json")).st_mtime_ns
    host.pass_time(10)
    clock.heard(9e8 + 10.5)
    assert os.stat(os.path.join(place, "clock.json")).st_mtime_ns == before
    clock.heard(9e8 + 50)
    assert host.clock(place).now() == 9e8 + 50


def test_a_damaged_file_is_as_none_and_a_full_disk_keeps_it_in_memory(place, monkeypatch):
    with open(os.path.join(place, "clock.json"), "w") as file:
        file.write("{}")
    clock = Host(5000.0).clock(place)
    assert clock.now() == 5000.0

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("opsapp.agent.serverclock.write_whole", full)
    clock.heard(7000.0)
    assert clock.now() == 7000.0


def test_the_time_since_boot_goes_on():
    assert since_boot() <= since_boot()


def test_by_how_much_the_hosts_clock_is_ahead_is_known_once_the_server_was_heard(place):
    host = Host(DAY)
    clock = host.clock(place)
    assert clock.ahead_s() is None
    clock.heard(DAY - 5)
    host.wall += 300
    assert clock.ahead_s() == 305
    host.boot, host.running = "b2", 0.0
    assert host.clock(place).ahead_s() is None
