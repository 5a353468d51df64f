"""Waves on plain values: how many go, who, what a verdict says of the rest."""

from typing import NamedTuple

import pytest

from opsapp.healing.logic.waves import WAVES, WaveSizes, sizes_for
from opsapp.healing.stages import waves
from opsapp.healing.stages.waves import HARM, LEFT, UNKNOWN, WELL, Deed, DeedMember


class Case(NamedTuple):
    id: str
    target: str


class Outage:
    """A deed with its members, as the store has them; these are drawn in the order of their names."""

    def __init__(self, count):
        self.deed, self.members = Deed("d", "rule", 0.0, members=count, waiting=count), {}
        self.take((DeedMember(name, f"h{name}", n / 100, ready=True) for n, name in enumerate(names(count))))

    def take(self, members):
        self.members |= {member.case_id: member for member in members}

    def change(self, change):
        self.deed = change.deed
        self.take(change.members)
        return [member.case_id for member in change.members]

    def open(self, sizes=WaveSizes()):
        ready = (member for member in self.members.values() if member.waits and member.ready)
        return self.change(waves.next_wave(self.deed, sorted(ready, key=lambda member: member.order), sizes))

    def judge(self, name, verdict, reason=""):
        self.change(waves.judged(self.deed, self.members[name], verdict, reason))

    def go(self, verdict=WELL, sizes=WaveSizes()):
        """The next wave, and all of it with this verdict."""
        gone = self.open(sizes)
        for name in gone:
            self.judge(name, verdict, "so")
        return gone


def names(count):
    return [f"{n:03}" for n in range(count)]


@pytest.mark.parametrize(
    ("total", "expected"),
    [(1, [1]), (2, [1, 1]), (3, [1, 1, 1]), (10, [1, 1, 5, 3]), (31, [1, 3, 15, 12]), (100, [1, 10, 50, 39])],
)
def test_how_many_go_in_each_wave(total, expected):
    outage, gone = Outage(total), []
    while outage.deed.waiting:
        gone.append(len(outage.go()))
    assert gone == expected
    assert WaveSizes().waves(total) == len(expected)
    assert outage.deed.is_over
    assert outage.deed.ends.well == total


def test_the_last_share_holds_for_all_that_follow():
    assert WaveSizes(2, (0.25,)).waves(10) == 5


@pytest.mark.parametrize("given", ["off", False, None])
def test_off_is_no_waves(given):
    wrong = {}
    read = None if given is None else WAVES.made(WAVES.read(given, "waves", wrong))
    assert (sizes_for(None, read), wrong) == (None, {})


def test_a_rule_comes_before_the_setting():
    assert sizes_for("off", WaveSizes()) is None
    assert sizes_for(WaveSizes(3, (1,)), None) == WaveSizes(3, (1,))
    assert sizes_for(None, WaveSizes(7)) == WaveSizes(7)


def test_the_next_wave_waits_for_every_verdict_of_this_one():
    outage = Outage(30)
    outage.go()
    assert outage.open() == ["001", "002", "003"]
    for name in ("001", "002", "003"):
        assert outage.open() == []
        outage.judge(name, WELL)
    assert len(outage.open()) == 15


def test_the_first_harm_stops_it_though_others_of_the_wave_are_under_way():
    outage = Outage(30)
    outage.go()
    outage.open()
    outage.judge("002", HARM, "failed, so")
    assert outage.deed.stopped == "h002: failed, so"
    assert outage.deed.acting == 2
    assert outage.open() == []


@pytest.mark.parametrize(("well", "unknown", "stops"), [(0, 1, True), (1, 1, True), (2, 1, False), (3, 3, True)])
def test_a_wave_that_is_half_unknown_stops_it(well, unknown, stops):
    outage = Outage(20)
    for n, name in enumerate(outage.open(WaveSizes(first=well + unknown))):
        outage.judge(name, WELL if n < well else UNKNOWN)
    assert bool(outage.deed.stopped) == stops


def test_a_wave_in_which_nobody_was_acted_on_is_drawn_again():
    outage = Outage(10)
    assert (outage.go(LEFT), outage.go(), outage.deed.wave) == (["000"], ["001"], 1)


def test_a_verdict_counts_once():
    outage = Outage(3)
    outage.go()
    outage.judge("000", HARM)
    assert (outage.deed.ends.well, outage.deed.ends.harm, outage.deed.stopped) == (1, 0, "")


def test_who_joins_late_goes_last_whatever_was_drawn():
    outage = Outage(3)
    outage.go()
    outage.change(waves.joined(outage.deed, None, Case("late", "h-late"), -1.0, ready=True))
    gone = []
    while outage.deed.waiting:
        gone += outage.go()
    assert gone == ["001", "002", "late"]


def test_who_is_not_ready_does_not_go_and_holds_up_nobody():
    outage = Outage(3)
    outage.take([outage.members["000"]._replace(ready=False)])
    assert outage.go() == ["001"]
