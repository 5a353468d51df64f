"""Waves on plain values: how many go, who, what a verdict says of the rest."""

import pytest

from opsapp.healing.logic.waves import WaveSizes, sizes, sizes_for
from opsapp.healing.stages import waves
from opsapp.healing.stages.waves import HARM, LEFT, UNKNOWN, WELL, Deed, DeedMember


def deed(count, **fields):
    """The members are drawn in the order of their names."""
    members = {name: DeedMember(name, f"h{name}", n / 100, ready=True) for n, name in enumerate(names(count))}
    return Deed("d", "rule", 0.0, members, **fields)


def names(count):
    return [f"{n:03}" for n in range(count)]


def go(outage, verdict=WELL, sizes=WaveSizes()):
    """The next wave, and all of it with this verdict."""
    outage = waves.next_wave(outage, sizes)
    gone = [member.case_id for member in outage.members.values() if member.acts]
    for name in gone:
        outage = waves.judged(outage, name, verdict, "so")
    return outage, gone


@pytest.mark.parametrize(
    ("total", "expected"),
    [(1, [1]), (2, [1, 1]), (3, [1, 1, 1]), (10, [1, 1, 5, 3]), (31, [1, 3, 15, 12]), (100, [1, 10, 50, 39])],
)
def test_how_many_go_in_each_wave(total, expected):
    outage, gone = deed(total), []
    while outage.waiting():
        outage, wave = go(outage)
        gone.append(len(wave))
    assert gone == expected
    assert WaveSizes().waves(total) == len(expected)


def test_the_last_share_holds_for_all_that_follow():
    assert WaveSizes(2, (0.25,)).waves(10) == 5


@pytest.mark.parametrize("given", ["off", False, None])
def test_off_is_no_waves(given):
    assert sizes(given) is None


def test_a_rule_comes_before_the_setting():
    assert sizes_for({"waves": "off"}, WaveSizes()) is None
    assert sizes_for({"waves": {"first": 3, "growth": [1]}}, None) == WaveSizes(3, (1,))
    assert sizes_for({"waves": None}, WaveSizes(7)) == WaveSizes(7)
    assert sizes_for(None, WaveSizes(7)) == WaveSizes(7)


def test_the_next_wave_waits_for_every_verdict_of_this_one():
    outage, _ = go(deed(30))
    outage = waves.next_wave(outage, WaveSizes())
    assert waves.next_wave(outage, WaveSizes()) == outage
    outage = waves.judged(waves.judged(outage, "001", WELL, ""), "002", WELL, "")
    assert waves.next_wave(outage, WaveSizes()) == outage
    assert waves.next_wave(waves.judged(outage, "003", WELL, ""), WaveSizes()).wave == 3


def test_the_first_harm_stops_it_though_others_of_the_wave_are_under_way():
    outage, _ = go(deed(30))
    outage = waves.judged(waves.next_wave(outage, WaveSizes()), "002", HARM, "failed, so")
    assert outage.stopped == "h002: failed, so"
    assert waves.next_wave(outage, WaveSizes()).wave == 2


@pytest.mark.parametrize(("well", "unknown", "stops"), [(0, 1, True), (1, 1, True), (2, 1, False), (3, 3, True)])
def test_a_wave_that_is_half_unknown_stops_it(well, unknown, stops):
    size = well + unknown
    outage = waves.next_wave(deed(20), WaveSizes(first=size))
    for n in range(size):
        outage = waves.judged(outage, f"{n:03}", WELL if n < well else UNKNOWN, "")
    assert bool(outage.stopped) == stops


def test_a_wave_in_which_nobody_was_acted_on_is_drawn_again():
    outage, first = go(deed(10), LEFT)
    outage, again = go(outage)
    assert (first, again, outage.wave) == (["000"], ["001"], 1)


def test_who_joins_late_goes_last_whatever_was_drawn():
    outage, _ = go(deed(3))
    outage = outage.having(DeedMember("late", "h-late", -1.0, late=True, ready=True))
    gone = []
    while outage.waiting():
        outage, wave = go(outage)
        gone += wave
    assert gone == ["001", "002", "late"]


def test_who_is_not_ready_does_not_go_and_holds_up_nobody():
    outage = deed(3)
    outage = outage.having(outage.members["000"]._replace(ready=False))
    _, gone = go(outage)
    assert gone == ["001"]
