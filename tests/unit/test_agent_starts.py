"""Starts of units: counted by systemd's own counter, so that none between two looks is missed."""

import pytest

from opsapp.agent import services as services_module
from opsapp.agent.services import Services
from opsapp.agent.starts import Starts


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def unit(restarts, run="a", **more):
    return {"Id": "web.service", "NRestarts": str(restarts), "InvocationID": run, **more}


@pytest.mark.parametrize(
    ("before", "now", "lasting", "starts"),
    [
        (unit(3), unit(3), True, 0),
        (unit(3), unit(9, "b"), True, 6),
        (unit(3), unit(9, "b"), False, 6),
        (unit(3), unit(0, "b"), True, 1),
        (unit(3), unit(2, "b"), True, 3),
        (unit(3), unit(0, ""), False, 0),
        (unit(0), unit(0, "b"), True, 1),
        (unit(0), unit(0, "b"), False, 0),
        (unit(0), unit(0, ""), True, 0),
    ],
    ids=[
        "none",
        "restarts",
        "restarts-of-a-job",
        "by-hand",
        "by-hand-and-again",
        "reset",
        "by-hand-first",
        "by-a-timer",
        "stopped",
    ],
)
def test_starts_between_two_looks(clock, before, now, lasting, starts):
    seen = Starts(clock)
    seen.note(before, lasting)
    assert seen.counts() == {}
    seen.note(now, lasting)
    assert seen.counts() == ({"web.service": starts} if starts else {})


def test_a_window_of_five_minutes_is_counted(clock):
    seen = Starts(clock)
    for restarts in range(6):
        seen.note(unit(restarts), True)
        clock.now += 100
    assert (seen.counts(), seen.counted_s()) == ({"web.service": 3}, 300.0)
    clock.now += 250
    assert seen.counts() == {}
    seen.note(unit(6), True)
    seen.keep(set())
    assert seen.counts() == {}


def test_a_systemd_that_does_not_count_says_nothing(clock):
    seen = Starts(clock)
    for run in "ab":
        seen.note({"Id": "web.service", "InvocationID": run}, True)
    assert seen.counts() == {}


def test_the_services_of_a_host_are_counted_by_their_names(tmp_path, monkeypatch):
    monkeypatch.setattr(services_module, "init_system", lambda: "systemd")
    services = Services(str(tmp_path), "boot-1")
    looks = iter((0, 7))
    monkeypatch.setattr(
        services_module,
        "_show",
        lambda which: [
            unit(next(looks), LoadState="loaded", ActiveState="activating", UnitFileState="enabled", Type="simple")
        ],
    )
    assert services.look().starts == {}
    found = services.look()
    assert (found.states, found.starts) == ({"web": "activating"}, {"web": 7})
    assert found.counted_s < 300


def test_where_nobody_counts_it_is_not_known(tmp_path, monkeypatch):
    monkeypatch.setattr(services_module, "init_system", lambda: "openrc")
    monkeypatch.setattr(services_module, "_openrc", lambda: {"web": "active"})
    found = Services(str(tmp_path), "boot-1").look()
    assert (found.states, found.starts, found.counted_s) == ({"web": "active"}, {}, None)
