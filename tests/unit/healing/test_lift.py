"""Lift: what an action that does nothing can reach, how soon one that helps is known, and that the interval holds."""

import random
from statistics import median

import pytest

from opsapp.healing.logic import lift
from opsapp.healing.logic.lift import ABOVE, BELOW, Arm, Lift, is_better, lift_of

CONTROLS_FIRST = 10  # cases at `notify`: nobody acts


def is_control(number):
    """The rule notifies first; then one case in ten is left alone."""
    return number < CONTROLS_FIRST or number % 10 == 0


def ever(treated_rate, control_rate, cases, is_refuted):
    """The exact chance that some look within so many cases refutes, by dynamic programming over (recovered treated,
    recovered control). For a given number of controls that recovered, more treated ones refute sooner: one threshold.
    """
    chances, reached, treated, control = {(0, 0): 1.0}, 0.0, 0, 0
    for number in range(cases):
        if is_control(number):
            control += 1
            chances = spread(chances, control_rate, 1)
        else:
            treated += 1
            chances = spread(chances, treated_rate, 0)
        if not treated or not control:
            continue
        least = {k: threshold(treated, control, k, is_refuted) for k in {key[1] for key in chances}}
        gone = {key: chance for key, chance in chances.items() if key[0] >= least[key[1]]}
        reached += sum(gone.values())
        chances = {key: chance for key, chance in chances.items() if key not in gone and chance > 1e-12}
    return reached


def spread(chances, rate, place):
    after = {}
    for key, chance in chances.items():
        more = tuple(count + (at == place) for at, count in enumerate(key))
        after[key] = after.get(key, 0.0) + chance * (1 - rate)
        after[more] = after.get(more, 0.0) + chance * rate
    return after


def threshold(treated, control, recovered, is_refuted):
    """The smallest number of treated cases that recovered with which it is refuted; one too many when none is."""
    low, high = 0, treated + 1
    while low < high:
        middle = (low + high) // 2
        if middle > treated or is_refuted(Arm(treated, middle), Arm(control, recovered)):
            high = middle
        else:
            low = middle + 1
    return low


@pytest.mark.parametrize("rate", [0.9, 0.95])
@pytest.mark.no_cover
def test_an_action_that_does_nothing_is_hardly_ever_found_better(rate):
    assert ever(rate, rate, 200, is_better) < 0.05


@pytest.mark.parametrize(("treated", "control"), [(0.9, 0.3), (0.6, 0.5), (0.3, 0.8)])
def test_the_ends_of_the_interval_miss_the_truth_as_rarely_as_they_say(treated, control):
    def below(one, other):
        return lift._refuted(one, other, treated - control, BELOW)

    def above(one, other):
        return lift._refuted(one, other, treated - control, ABOVE)

    assert ever(treated, control, 60, below) <= BELOW
    assert ever(treated, control, 60, above) <= ABOVE


def test_what_helps_is_known_soon():
    chance = random.Random(1)
    assert median(known_after(0.9, 0.3, chance) for _ in range(200)) <= 30


def known_after(treated_rate, control_rate, chance):
    treated, control = Arm(), Arm()
    for number in range(150):
        if is_control(number):
            control = control.added(chance.random() < control_rate)
        else:
            treated = treated.added(chance.random() < treated_rate)
        if is_better(treated, control):
            return number + 1
    return 150


def test_without_both_arms_nothing_is_known():
    assert lift_of(Arm(5, 5), Arm()) == lift_of(Arm(), Arm(5, 0)) == Lift(None, -1.0, 1.0)
    assert not is_better(Arm(5, 5), Arm())
    assert (Arm().rate, Arm(4, 1).rate) == (None, 0.25)


@pytest.mark.parametrize(
    ("treated", "control", "verdict"),
    [
        ((14, 13), (14, 3), "helps"),
        ((5, 4), (5, 3), "unknown"),
        ((4000, 3600), (4000, 3600), "no_effect"),
        ((60, 5), (60, 55), "harms"),
    ],
)
def test_the_verdict_follows_from_the_interval(treated, control, verdict):
    known = lift_of(Arm(*treated), Arm(*control))
    assert known.verdict == verdict
    assert known.low <= known.lift <= known.high


def test_better_is_a_lower_end_above_zero():
    for recovered in range(15):
        treated, control = Arm(14, recovered), Arm(14, 3)
        assert is_better(treated, control) is (lift_of(treated, control).low > 0)
