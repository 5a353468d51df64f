"""Which hosts of a wave are compared, and that the draw alone makes it fair: by exact enumeration of all draws."""

import math
from itertools import permutations

import pytest

from opsapp.healing.logic.bets import STAKES, STEPS
from opsapp.healing.logic.lift import Shares, Trials
from opsapp.healing.logic.waves import WaveSizes
from opsapp.healing.stages.waves import Deed, DeedMember, next_wave
from opsapp.healing.stages.wavetrials import ANSWERS_S, MOST, ComparedHost, WaveTrial, compared, looked_at
from opsapp.healing.stages.world import Reading

MOMENT = 100.0
TRIAL = WaveTrial("d", "r", 90.0, MOMENT, (), MOMENT)


def member(name, draw, late=0):
    return DeedMember(name, f"h{name}", draw, late, True)


def sides(hosts):
    return [[host.case_id for host in hosts if host.went is went] for went in (True, False)]


def test_those_next_to_the_cut_are_compared():
    line = [member(f"{number:02}", number / 100) for number in range(60)]
    went, waits = sides(compared(line[:30], line[30:]))
    assert went == [f"{number:02}" for number in range(30 - MOST, 30)]
    assert waits == [f"{number:02}" for number in range(30, 30 + MOST)]


def test_only_those_that_were_ready_since_the_same_draw_are():
    """Of others the order says when they came, and who came later may be better off."""
    line = [member("a", 0.1), member("b", 0.9), member("c", 0.2, 1), member("d", 0.5, 1), member("e", 0.1, 2)]
    assert sides(compared(line[:3], line[3:])) == [["c"], ["d"]]
    assert compared(line[:2], line[2:]) == ()
    assert compared(line, []) == ()
    assert compared([], line) == ()


def test_who_comes_between_two_draws_of_one_wave_is_not_compared_with_who_was_there():
    deed = Deed("d", "r", 0.0, members=3, waiting=3)
    first = next_wave(deed, [member("a", 0.1), member("b", 0.5)], WaveSizes()).deed
    came = first.late
    again = next_wave(first._replace(present=first.present.added("left")), [member("b", 0.5)], WaveSizes()).deed
    assert (first.wave, again.wave) == (1, 1)
    assert came < again.late


def test_no_wave_opens_while_the_one_before_is_a_trial():
    deed = next_wave(Deed("d", "r", 0.0, members=2, waiting=2), [member("a", 0.1)], WaveSizes()).deed
    over = deed._replace(present=deed.present.added("well"), trial="t")
    assert next_wave(over, [member("b", 0.5)], WaveSizes()).members == ()
    assert next_wave(over._replace(trial=""), [member("b", 0.5)], WaveSizes()).members != ()


@pytest.mark.parametrize(
    ("verdict", "measured_at", "well"),
    [
        (False, MOMENT, True),
        (True, MOMENT + 1, False),
        (None, MOMENT + 1, False),
        (False, MOMENT - 1, None),
        (False, MOMENT + ANSWERS_S + 1, None),
        (False, None, None),
    ],
)
def test_only_what_was_measured_at_the_moment_says_that_a_host_is_well(verdict, measured_at, well):
    host = ComparedHost("a", True)
    assert looked_at(host, Reading(verdict, {}, measured_at), TRIAL).well is well


def test_the_first_measurement_counts():
    host = ComparedHost("a", True, False)
    assert looked_at(host, Reading(False, {}, MOMENT + 2), TRIAL) == host


def test_silence_is_not_well_on_both_sides_and_says_nothing_if_all_are_silent():
    hosts = (ComparedHost("a", True), ComparedHost("b", False, True), ComparedHost("c", False))
    trial = TRIAL._replace(hosts=hosts)
    assert (trial.shares, trial.is_over(MOMENT), trial.is_over(MOMENT + ANSWERS_S + 1)) == (Shares(0, 0.5), False, True)
    assert trial._replace(hosts=tuple(host._replace(well=None) for host in hosts)).shares is None


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("ends", [((1, 1), (0, 0), (1, 0), (0, 1)), ((1, 1), (1, 1), (0, 0), (0, 0)), ((1, 0),) * 4])
def test_wealth_is_a_martingale_over_the_draw_whatever_each_host_would_do(size, ends):
    """`ends`: how each host ends if it goes, and if it waits. The mean of z over all draws is the mean lift."""
    lift = sum(went - waits for went, waits in ends) / len(ends)
    bets = []
    for order in permutations(range(len(ends))):
        line = [member(str(number), place / 10) for place, number in enumerate(order)]
        hosts = (host._replace(well=bool(ends[int(host.case_id)][not host.went])) for host in
                 compared(line[:size], line[size:]))  # fmt: skip
        bets.append(Trials().compared(TRIAL._replace(hosts=tuple(hosts)).shares).bets.above)
    for place, d in enumerate(STEPS):
        wealth = [sum(above[place * len(STAKES) :][: len(STAKES)]) for above in bets]
        mean = math.fsum(wealth) / len(wealth) / len(STAKES)
        assert round(mean - 1, 9) == pytest.approx(0) if round(lift - d, 9) == 0 else (mean > 1) == (lift > d)
