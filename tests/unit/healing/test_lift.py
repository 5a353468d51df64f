"""The bet on whether a heal helps: what it is worth by exact enumeration of the coin, and what follows from it."""

import math
import re
from itertools import product
from pathlib import Path

import pytest

from opsapp.healing.logic import bets
from opsapp.healing.logic.bets import ENOUGH, LEAST, MOST, STAKES, STEPS
from opsapp.healing.logic.lift import LAST, Arm, Bets, Draw, Shares, Trials, WaveSums

SHARES, GUESSES = (0.05, 0.1, 0.25, 0.5), (0.02, 0.3, 0.5, 0.75, 0.98)
RATES = (0.0, 0.1, 0.5, 0.9, 1.0)  # of recovery: left alone, and healed
grid = pytest.mark.parametrize(("share", "guess"), [*product(SHARES, GUESSES)])


def outcomes(share, guess, alone, healed):
    """(chance, draw, recovered): every side of the coin, with every end of the case."""
    for treated, chance, rate in ((True, 1 - share, healed), (False, share, alone)):
        for recovered in (True, False):
            yield chance * (rate if recovered else 1 - rate), Draw(share, guess, treated), recovered


def means_of(side, ends):
    """Of the wealth after one trial, for each of STEPS: over all that the coin and the case may do, and STAKES."""
    known = [(chance, getattr(Trials().added(draw, recovered).bets, side)) for chance, draw, recovered in ends]
    means = [math.fsum(chance * wealth[place] for chance, wealth in known) for place in range(len(known[0][1]))]
    return [means[place : place + len(STAKES)] for place in range(0, len(means), len(STAKES))]


def after(sides, share=0.25, guess=None):
    """After these trials: (treated, recovered)."""
    trials = Trials()
    for treated, recovered in sides:
        made = trials.guess(share) if guess is None else guess
        trials = trials.added(Draw(share, made, treated), recovered)
    return trials


def often(treated, alone, times=60):
    """One of four is left alone; these shares of each arm recover, as evenly as it goes."""
    sides = []
    for number in range(times):
        arm, of = (alone, number // 4) if number % 4 == 0 else (treated, number - number // 4)
        sides.append((number % 4 != 0, math.floor((of + 1) * arm) > math.floor(of * arm)))
    return sides


def test_the_betting_test_is_one_small_pure_module():
    text = Path(bets.__file__).read_text()
    assert len(text.splitlines()) < 150
    assert re.findall(r"^(?:from|import) (\S+)", text, re.M) == ["__future__", "math", "operator", "typing"]


@grid
def test_wealth_is_a_martingale_where_the_lift_is_what_was_bet_against(share, guess):
    """Its mean after a trial is 1 for the true lift, more below it, and less above it; the other way round for the bets
    that it is less."""
    for alone, healed in product(RATES, RATES):
        ends = [*outcomes(share, guess, alone, healed)]
        for d, above, below in zip(STEPS, means_of("above", ends), means_of("below", ends), strict=True):
            sign = round(healed - alone - d, 9)
            if sign == 0:
                assert above + below == pytest.approx([1.0] * 8, abs=1e-9)
            else:
                assert all((mean > 1) == (sign > 0) for mean in above)
                assert all((mean > 1) == (sign < 0) for mean in below)


@grid
def test_nobody_can_lose_everything(share, guess):
    for _, draw, recovered in outcomes(share, guess, 0.5, 0.5):
        known = Trials().added(draw, recovered).bets
        assert min(known.above + known.below) >= 1 - max(STAKES) - 1e-9


def test_the_two_ends_are_mirror_images():
    """Who changes the arms, and the chance of each, gets the mirrored ends; one end needs four times as much."""
    sides = often(0.9, 0.3)
    there = after(sides, share=0.25, guess=0.4).bets
    back = after([(not treated, recovered) for treated, recovered in sides], share=0.75, guess=0.4).bets
    size = len(STAKES)
    for place in range(len(STEPS)):
        mirror = len(STEPS) - 1 - place
        left, right = there.above[place * size :][:size], back.below[mirror * size :][:size]
        assert left == pytest.approx(right, rel=1e-6)


def test_the_lower_end_only_rises_and_the_upper_end_only_falls():
    trials, ends = Trials(), []
    for treated, recovered in often(0.9, 0.3, 200) + often(0.4, 0.9, 200):
        trials = trials.added(Draw(0.25, trials.guess(0.25), treated), recovered)
        ends.append((trials.bets.low, trials.bets.high))
    assert ends == sorted(ends, key=lambda end: (end[0], -end[1]))
    assert ends[0] == (-1.0, 1.0)
    assert ends[-1][0] > 0.3, "what was proven stays: another detector says that it has changed"


def test_the_lower_end_lies_where_the_bet_is_just_won():
    sides, trials = iter(often(0.9, 0.3)), Trials()
    while trials.bets.low <= 0:
        treated, recovered = next(sides)
        trials = trials.added(Draw(0.25, trials.guess(0.25), treated), recovered)
    at = [sum(trials.bets.above[place * 4 : place * 4 + 4]) / 4 for place in range(len(STEPS))]
    won = [d for d, wealth in zip(STEPS, at, strict=True) if wealth >= ENOUGH]
    assert won[-1] <= trials.bets.low < won[-1] + 0.05
    assert at == sorted(at, reverse=True)


@pytest.mark.parametrize(
    ("treated", "alone", "times", "verdict"),
    [(0.9, 0.3, 60, "helps"), (0.8, 0.6, 8, "unknown"), (0.1, 0.9, 90, "harms"), (0.9, 0.9, 4000, "no_effect")],
)
def test_the_verdict_follows_from_the_ends(treated, alone, times, verdict):
    trials = after(often(treated, alone, times))
    assert trials.verdict == verdict
    assert trials.bets.low <= treated - alone <= trials.bets.high


def test_wealth_stays_within_what_a_number_holds():
    trials = after([(number % 2 == 0, number % 2 == 0) for number in range(1000)], share=0.5)
    assert max(trials.bets.above) == MOST
    assert min(trials.bets.below) == LEAST
    assert (trials.bets.low, trials.bets.high) == (STEPS[-1], 1.0)
    mirrored = after([(number % 2 == 0, number % 2 == 1) for number in range(1000)], share=0.5)
    assert (mirrored.bets.low, mirrored.bets.high) == (-1.0, STEPS[0])


def test_the_guess_is_the_mean_that_is_to_be_expected_weighed_the_other_way_round():
    assert Trials().guess(0.25) == 0.5
    known = Trials(Arm(9, 9), Arm(9, 0))
    assert known.guess(0.25) == pytest.approx(0.75 * 0.05 + 0.25 * 0.95)


def test_the_lift_is_what_was_seen():
    assert Trials(Arm(4, 3), Arm(2, 1)).lift == 0.25
    assert Trials(Arm(4, 3), Arm()).lift is None
    assert Trials(Arm(), Arm(4, 3)).lift is None


def test_without_both_arms_there_is_no_usual_range():
    assert Trials().usual is None
    assert after([(True, True)] * 5).usual is None
    assert after([(False, True)] * 5).usual is None
    low, high = after([(True, True), (False, False)]).usual
    assert -1 <= low < 1 / 3 < high <= 1


def test_the_usual_range_is_about_the_last_trials():
    trials = after([(number % 2 == 0, number % 2 == 1) for number in range(LAST)] + often(0.9, 0.3, LAST))
    low, high = trials.usual
    assert 0.3 < low < 0.6 < high < 0.8
    assert len(trials.bets.last) == LAST


@pytest.mark.parametrize(("went", "stayed"), [(45, 15), (75, 25), (90, 10)])
@pytest.mark.parametrize("alone", [0.1, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("treated", [0.1, 0.5, 0.9, 0.95])
def test_of_ten_usual_ranges_eight_hold_the_truth(treated, alone, went, stayed):
    """Exactly: over all that so many treated cases and others may do."""
    held = 0.0
    for recovered, by_itself in product(range(went + 1), range(stayed + 1)):
        last = (3,) * recovered + (2,) * (went - recovered) + (1,) * by_itself + (0,) * (stayed - by_itself)
        low, high = Trials(bets=Bets(last=last)).usual
        if low <= treated - alone <= high:
            held += binomial(went, recovered, treated) * binomial(stayed, by_itself, alone)
    assert 0.75 <= held <= 0.90


def binomial(n, k, rate):
    return math.comb(n, k) * rate**k * (1 - rate) ** (n - k)


def test_waves_count_with_their_shares():
    trials = Trials(Arm(2, 1), Arm(2, 0)).compared(Shares(1.0, 0.25)).compared(Shares(0.5, 0.15))
    assert (trials.treated, trials.control) == (Arm(2, 1), Arm(2, 0))
    assert trials.waves == WaveSums(2, 1.5, pytest.approx(0.4))
    assert trials.lift == pytest.approx(2.5 / 4 - 0.4 / 4)
    low, high = trials.usual
    assert low < 0.525 < high
    for _ in range(30):
        trials = trials.compared(Shares(0.9, 0.3))
    assert trials.verdict == "helps"
    assert trials.bets.low < 0.6 < trials.bets.high
